// Package runs has the commands that run an agent and print its answer: 'worker task',
// 'worker run' and 'worker sessions resume'.
package runs

import (
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/spf13/cobra"
)

// commands are the commands that run an agent.
type commands struct{ *app.Program }

// Task is 'worker task'.
func Task(p *app.Program) *cobra.Command { return commands{p}.taskCommand() }

// Run is 'worker run'.
func Run(p *app.Program) *cobra.Command { return commands{p}.runCommand() }

// Resume is 'worker sessions resume'.
func Resume(p *app.Program) *cobra.Command { return commands{p}.resumeCommand() }
