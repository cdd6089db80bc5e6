// Package sessions has the commands of 'worker sessions'.
package sessions

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/bundle"
	"github.com/agentworker/worker/cmd/worker/internal/runs"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
)

type commands struct{ *app.Program }

// Commands returns 'worker sessions'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return usage.Group("sessions", "Look at the sessions of this workspace, wait for them, stop and delete them",
		p.listCommand(), p.showCommand(), p.logCommand(), p.stopCommand(),
		p.applyCommand(), p.discardCommand(), bundle.Export(program),
		p.waitCommand(), p.resultCommand(), p.summaryCommand(), p.sendCommand(), p.backgroundCommand(), runs.Resume(program), p.deleteCommand())
}
