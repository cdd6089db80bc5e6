package session

import (
	"context"

	"github.com/agentworker/worker/eventbus/event"
)

// Settle says behind a turn that the session waits for its next prompt, and returns the
// sequence number of the event that says so, once that is stored: all that the turn has
// published comes before. The session must not end meanwhile.
func (s *Session) Settle(ctx context.Context) (seq uint64, err error) {
	s.status(event.StatusIdle)
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	return s.m.bus.LastSeq(ctx, s.path, event.StatusChange{}.Type())
}
