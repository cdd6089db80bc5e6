package requests

import (
	"context"

	"github.com/agentworker/worker/session/record"
)

// CommandRequest asks a session's process to stop a command in the session's background.
type CommandRequest struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	By        string `json:"by"` // who asks, for people
}

// CommandSubject returns the subject on which a process receives a [CommandRequest] as JSON. It
// answers with a [RequestAnswer].
func (s *Sender) CommandSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".command"
}

// StopCommand stops a command in the background of a session, in whichever process that runs. It
// returns the session's record once the command is about to end. The errors are those of
// [Sender.MoveToBackground].
func (s *Sender) StopCommand(ctx context.Context, id, command, by string) (*record.Record, error) {
	return s.ask(ctx, id, s.CommandSubject, CommandRequest{id, command, by})
}
