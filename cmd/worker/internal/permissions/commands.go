// Package permissions has the commands of 'worker permission'.
package permissions

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/permission"
)

type commands struct{ *app.Program }

// Commands returns 'worker permission'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("permission", "See what the permission rules say of tool calls",
		p.defaultsCommand(), p.evalCommand(), p.explainCommand(), p.lintCommand())
}

func (p commands) defaultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "defaults",
		Short: "Print the default rules, which lie below all others",
		Long: `defaults prints the built-in rules, in the form of permissions.jsonc. They
decide, together with the agent's own rules, about what no rule of yours and no
answer "always" is about: the stricter of the two counts. To lift a default, write
a rule into permissions.jsonc.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Stdout.Write(permission.DefaultsText)
			return err
		},
	}
}
