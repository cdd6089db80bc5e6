package requests

import (
	"context"

	"github.com/agentworker/worker/session/record"
)

// BackgroundRequest asks a session's process to let the call that waits for it return. The
// session goes on in the background.
type BackgroundRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"`                // who asks, for people
	Command   bool   `json:"command,omitempty"` // instead, the command that the session waits for goes on in its background
}

// BackgroundSubject returns the subject on which a process receives a [BackgroundRequest]
// as JSON. It answers with a [RequestAnswer].
func (s *Sender) BackgroundSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".background"
}

// MoveToBackground has the call that waits for a session return, in whichever process it
// runs. The session goes on in the background. MoveToBackground returns the session's
// record once the process has accepted the request. A session that is in the background
// already stays there.
//
// It returns the errors of [index.Index.Get], a [*record.EndedError] for a session that has
// ended, and a [*RefusedError] if no such call waits. The error is [ErrNotSent] if the
// process has not answered within 10 s, or before ctx ended.
func (s *Sender) MoveToBackground(ctx context.Context, id, by string) (*record.Record, error) {
	return s.ask(ctx, id, s.BackgroundSubject, BackgroundRequest{SessionID: id, By: by})
}

// MoveCommand has the command that a session waits for go on in its background, and the call of
// shell_exec return. It is otherwise as MoveToBackground.
func (s *Sender) MoveCommand(ctx context.Context, id, by string) (*record.Record, error) {
	return s.ask(ctx, id, s.BackgroundSubject, BackgroundRequest{SessionID: id, By: by, Command: true})
}
