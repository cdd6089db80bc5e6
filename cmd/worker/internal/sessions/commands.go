// Package sessions has the commands of 'worker sessions', and 'worker replay', which plays
// what 'worker sessions export' has written.
package sessions

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/run"
)

type commands struct{ *app.Program }

// Commands returns 'worker sessions'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("sessions", "Look at the sessions of this workspace, wait for them, stop and delete them",
		p.listCommand(), p.showCommand(), p.logCommand(), p.stopCommand(),
		p.diffCommand(), p.revertCommand(), p.applyCommand(), p.discardCommand(), p.exportCommand(),
		p.waitCommand(), p.resultCommand(), p.summaryCommand(), p.sendCommand(), p.backgroundCommand(), run.Resume(program), p.deleteCommand())
}
