package permissions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
)

// Trust is 'worker trust'.
func Trust(program *app.Program) *cobra.Command {
	p := commands{program}
	var remove, show bool
	cmd := &cobra.Command{
		Use:   "trust [FILE]...",
		Short: "Let the rules of this repository allow calls",
		Long: `trust accepts files of the repository as they are now: .agents/permissions.jsonc, and
the settings of other programs, such as .claude/settings.json. The rules in them that
allow calls count from the next call on. It prints them. What the files deny and ask
about counts without that. Once a file is changed it is to be trusted again. Nothing is
written into the repository; the hash of a file's content is kept in the state folder.

With FILE, a path in the workspace, it accepts no other.`,
		RunE: func(_ *cobra.Command, args []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			files, wrong := app.TrustableRules(p.Program, ws)
			if wrong != nil && len(args) == 0 {
				return cli.Usage(wrong)
			}
			files, err = chosen(files, args, ws.Root)
			if err != nil {
				return errors.Join(err, wrong)
			}
			rules := 0
			for _, f := range files {
				rules += len(f.Rules)
				for _, r := range f.Rules {
					fmt.Fprintf(p.Stdout, "%s  %s\n", r.Source, termtext.OneLine(r.String(), termtext.MaxLine))
				}
				if set, err := permission.NewRuleset(f.Rules...); err == nil {
					for _, line := range findings(set) {
						fmt.Fprintln(p.Stderr, line)
					}
				}
			}
			switch {
			case len(files) == 0:
				return cli.Usage(fmt.Errorf("there is no file %s, and no settings of other programs allow anything", app.RepositoryFile(ws)))
			case show:
				return nil
			case remove:
				fmt.Fprintln(p.Stderr, "no longer trusted: these rules do not count")
			case rules == 0:
				fmt.Fprintln(p.Stderr, "trusted: no rule of it allows anything")
			default:
				fmt.Fprintf(p.Stderr, "trusted: %s that %s calls\n", termtext.Plural(rules, "rule"), map[bool]string{true: "allows", false: "allow"}[rules == 1])
			}
			return app.TrustRules(p.Program, ws, files, !remove)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no longer")
	cmd.Flags().BoolVar(&show, "show", false, "only print the rules that allow calls")
	cmd.MarkFlagsMutuallyExclusive("remove", "show")
	return cmd
}

// chosen returns the files that are named, relative to the current folder or to root; all if none is.
func chosen(files []app.Allowing, names []string, root string) ([]app.Allowing, error) {
	if len(names) == 0 {
		return files, nil
	}
	var some []app.Allowing
	for _, name := range names {
		i := slices.IndexFunc(files, func(f app.Allowing) bool {
			return sameFile(f.Path, name) || f.Path == filepath.Join(root, name)
		})
		if i < 0 {
			return nil, cli.Usage(fmt.Errorf("%s: it has no rules that trust is about: 'worker trust --show' shows the files with some", name))
		}
		some = append(some, files[i])
	}
	return some, nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(one, other)
}
