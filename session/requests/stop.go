package requests

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
)

// StopRequest asks the process of a session to stop it. The answer is empty: it means that
// the record says how the session has ended.
type StopRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"`
}

// StopSubject returns the subject on which a process receives requests to stop sessions,
// each the JSON of a [StopRequest].
func (s *Sender) StopSubject(bootID string) string {
	return "agents.v1." + s.bus.Workspace() + ".workers." + bootID + ".stop"
}

// Stop asks a process to stop a session, and returns once it has answered or ctx has ended.
// A process that does not listen has no sessions yet, or has none left.
func (s *Sender) Stop(ctx context.Context, bootID string, req StopRequest) error {
	request, err := json.Marshal(req)
	if err != nil {
		return err
	}
	err = s.bus.Store().Request(ctx, s.StopSubject(bootID), request)
	if ctx.Err() != nil || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return err
}
