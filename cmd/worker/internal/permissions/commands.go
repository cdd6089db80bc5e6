// Package permissions has the commands of 'worker permission'.
package permissions

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
)

type commands struct{ *app.Program }

// Commands returns 'worker permission'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("permission", "See what the permission rules say of tool calls",
		p.evalCommand(), p.explainCommand(), p.lintCommand())
}
