package requests

import (
	"context"

	"github.com/agentworker/worker/session/record"
)

// BackgroundRequest asks the process of a session to have the call return that waits
// for it, while the session goes on in the background.
type BackgroundRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"` // for people
}

// BackgroundSubject is where the process of a boot id takes a [BackgroundRequest], as
// JSON. It answers with a [RequestAnswer].
func (s *Sender) BackgroundSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".background"
}

// MoveToBackground has the call return that waits for a session, in whatever process,
// while the session goes on in the background. It returns the session's record once
// that is in its log. A session that is in the background stays so.
//
// Its errors are those of Get, an [*EndedError] for a session that has ended, a
// [*RefusedError] for one for which no such call waits, and [ErrNotSent] if its process
// has not answered within 10 s, or before ctx has ended.
func (s *Sender) MoveToBackground(ctx context.Context, id, by string) (*record.Record, error) {
	return s.ask(ctx, id, s.BackgroundSubject, BackgroundRequest{id, by})
}
