package session

import (
	"context"
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
)

// LastAnswer returns the answer of the last turn of a session, as its
// turn_complete event has it: the result, where the agent's answers are checked.
// It is an error that there is none.
func (s *Store) LastAnswer(ctx context.Context, r *Record) (string, error) {
	raw, err := s.bus.Last(ctx, r.Path, event.TurnComplete{}.Type())
	if err != nil {
		return "", fmt.Errorf("reading the answer of session %s: %w", r.ID, err)
	}
	if raw == nil {
		return "", fmt.Errorf("reading the answer of session %s: it is not stored", r.ID)
	}
	ev, err := event.Decode(raw)
	if err != nil {
		return "", fmt.Errorf("reading the answer of session %s: %w", r.ID, err)
	}
	turn, ok := ev.(event.TurnComplete)
	if !ok {
		return "", fmt.Errorf("reading the answer of session %s: its event is a %s", r.ID, ev.Type())
	}
	if turn.Message.Text == "" { // its place is known, and nothing is there
		return "", fmt.Errorf("reading the answer of session %s: it is not stored any more", r.ID)
	}
	return turn.Message.Text, nil
}
