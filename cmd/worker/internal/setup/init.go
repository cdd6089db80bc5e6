package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
)

// Init returns 'worker init'.
func Init(program *app.Program) *cobra.Command {
	p := commands{program}
	var role string
	var from []string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first agent file, and say how to add worker to hosts",
		Long: `Writes an agent that works as it is into the agent folder of the workspace, where there
is no agent yet, and prints for each MCP host that is installed how worker is added to it.
No file is replaced.

With --from it copies the agents of other tools, as --agents-from would read them, each
into a file of its own with the same rules. What can't be copied exactly is left out, and
told. Later changes of the originals don't reach the copies.`,
		Example: `  worker init
  worker init --from opencode,codex`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(from) > 0 {
				return p.takeOver(from)
			}
			return p.init(role)
		},
	}
	cmd.Flags().StringSliceVar(&from, "from", nil, "copy the agents of these tools, with commas between, or all")
	cmd.Flags().StringVar(&role, "role", "review", "what the agent is for: plan, review, implementer or verifier")
	cli.CompleteFlag(cmd, "role", cobra.FixedCompletions(agentdefs.Roles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p commands) init(role string) error {
	text, err := agentdefs.Starter(role, "")
	if err != nil || role == "" {
		return cli.Usage(cmp.Or(err, errors.New("--role is empty")))
	}
	at, err := p.folders()
	if err != nil {
		return err
	}
	snapshot, err := p.LoadAgents()
	if err != nil {
		return err
	}
	file := path.Join(cmp.Or(snapshot.Dir(), ".agents/agents"), role+".md")
	there := slices.IndexFunc(snapshot.Agents(), func(d *agentdefs.Definition) bool { return !d.BuiltIn })
	switch {
	case there >= 0:
		d := snapshot.Agents()[there]
		fmt.Fprintf(p.Stdout, "there are agents already, such as %s; 'worker agents new' adds one\n", termtext.OneLine(d.File, termtext.MaxLine))
		role = d.Name
	default:
		err := create(at.Project, file, text)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already, and stays: 'worker agents lint' says why it is not served", file)
		}
		if err != nil {
			return fmt.Errorf("writing the agent file: %w", err)
		}
		fmt.Fprintf(p.Stdout, "wrote %s\n", file)
	}
	fmt.Fprintf(p.Stdout, "run it:    worker task %s \"…\"\ncheck all: worker doctor\n", termtext.OneLine(role, termtext.MaxLabel))
	return p.printHosts(at)
}

// create writes a file that is not there, within root whatever symlinks say.
func create(root, file, text string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // nothing is written by it
	if err := dir.MkdirAll(filepath.FromSlash(path.Dir(file)), 0o777); err != nil {
		return err
	}
	f, err := dir.OpenFile(filepath.FromSlash(file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // the umask counts
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// printHosts says how worker is added to each host that is installed.
func (p commands) printHosts(at hostFolders) error {
	found := false
	for _, h := range allHosts {
		if !h.Installed(at) {
			continue
		}
		if !found {
			fmt.Fprint(p.Stdout, "\nhosts that are installed here, and what adds worker to them:\n")
		}
		found = true
		line := cmp.Or(h.Add, "worker mcp install "+h.Name)
		if has, err := h.Has(at, false, "worker"); err == nil && has {
			line = "has it already"
		}
		fmt.Fprintf(p.Stdout, "  %-19s %s\n", h.Title, line)
	}
	if !found {
		fmt.Fprint(p.Stdout, "\nno MCP host was found that is known here: docs/guide/hosts.md says how to add worker to others\n")
	}
	return nil
}
