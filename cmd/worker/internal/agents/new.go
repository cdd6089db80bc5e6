package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/termtext"
)

type newOptions struct {
	role          string
	force, stdout bool
}

func (p commands) newCommand() *cobra.Command {
	var opts newOptions
	cmd := &cobra.Command{
		Use:   "new [NAME]",
		Short: "Write an agent file to begin with",
		Long: `Writes an agent file into the folder that is served, and prints its path: with
--role an agent that works as it is, else a template whose comments say what can be
written. NAME is the agent's and the file's; with --role it may be left out.`,
		Example: `  worker agents new release-notes
  worker agents new --role review
  worker agents new security-review --role review`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.newAgent(strings.Join(args, ""), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.role, "role", "", strings.Join(agentdefs.Roles(), ", "))
	flags.BoolVar(&opts.force, "force", false, "replace a file that is there")
	flags.BoolVar(&opts.stdout, "stdout", false, "print the file and write nothing")
	cli.CompleteFlag(cmd, "role", cobra.FixedCompletions(agentdefs.Roles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p commands) newAgent(name string, opts newOptions) error {
	text, err := agentdefs.Starter(opts.role, name)
	if err != nil {
		return cli.Usage(err)
	}
	if opts.stdout {
		_, err := fmt.Fprint(p.Stdout, text)
		return err
	}
	name = cmp.Or(name, opts.role)
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	snapshot, err := p.LoadAgents()
	if err != nil {
		return err
	}
	shown := path.Join(cmp.Or(snapshot.Dir(), ".agents/agents"), name+".md")
	file := filepath.Join(ws.Root, filepath.FromSlash(shown))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return fmt.Errorf("making the agent folder: %w", err)
	}
	if err := writeNew(file, text, opts.force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return cli.Usage(fmt.Errorf("%s is there already; --force replaces it", shown))
		}
		return fmt.Errorf("writing the agent file: %w", err)
	}
	if d, _ := snapshot.Resolve(name); d != nil && d.File != shown {
		fmt.Fprintf(p.Stderr, "worker: note: %s has the name %q already, or as an alias; 'worker agents list' shows which one is served\n",
			termtext.OneLine(Origin(d), termtext.MaxLine), termtext.OneLine(name, termtext.MaxLabel))
	}
	_, err = fmt.Fprintln(p.Stdout, file)
	return err
}

// writeNew writes a file. It replaces one that is there only if told to, and then
// in one step; a symlink is replaced, not followed.
func writeNew(file, text string, replace bool) error {
	if replace {
		return atomicfile.Write(file, []byte(text), 0o644)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // the umask counts
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
