package permissions

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
)

// Trust is 'worker trust'.
func Trust(program *app.Program) *cobra.Command {
	p := commands{program}
	var remove, show bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Let the rules of this repository allow calls",
		Long: `trust accepts .agents/permissions.jsonc of the repository as it is now: the rules in
it that allow calls count from the next call on. It prints them. What the file denies
and asks about counts without that. Once the file is changed it is to be trusted
again. Nothing is written into the repository; the hash of the file's content is kept
in the state folder.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			rules := app.NewRepositoryRules(p.Program, ws)
			allow, hash, err := rules.Allowing()
			if err != nil {
				return cli.Usage(err)
			}
			for _, r := range allow {
				fmt.Fprintf(p.Stdout, "%s  %s\n", r.Source, termtext.OneLine(r.String(), termtext.MaxLine))
			}
			switch {
			case show:
				return nil
			case remove:
				fmt.Fprintln(p.Stderr, "no longer trusted: these rules do not count")
			case len(allow) == 0:
				fmt.Fprintln(p.Stderr, "trusted: no rule of it allows anything")
			default:
				fmt.Fprintf(p.Stderr, "trusted: %s that %s calls\n", termtext.Plural(len(allow), "rule"), map[bool]string{true: "allows", false: "allow"}[len(allow) == 1])
			}
			return rules.Trust(hash, !remove)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no longer")
	cmd.Flags().BoolVar(&show, "show", false, "only print the rules that allow calls")
	cmd.MarkFlagsMutuallyExclusive("remove", "show")
	return cmd
}
