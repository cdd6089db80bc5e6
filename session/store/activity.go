package store

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// Activity is what a session was last heard of doing.
type Activity struct {
	At   time.Time // of its newest event; zero means it has none
	Tool string    // of the call that began last, while calls run; empty means none does
}

// Activity returns what the session of a record was last heard of doing, by its own
// events, not those of the sessions below it.
func (s *Store) Activity(ctx context.Context, r *Record) (Activity, error) {
	a, err := s.activity(ctx, r)
	if err != nil {
		return a, fmt.Errorf("looking for what session %s does: %w", r.ID, err)
	}
	return a, nil
}

func (s *Store) activity(ctx context.Context, r *Record) (a Activity, err error) {
	if a.At, err = s.bus.LastTime(ctx, r.Path); err != nil {
		return a, err
	}
	change, err := lastOf[event.StatusChange](ctx, s, r)
	if err != nil || change == nil || change.Status != event.StatusExecutingTool && change.Status != event.StatusWaitingApproval {
		return a, err
	}
	call, err := lastOf[event.ToolCallStart](ctx, s, r)
	if call != nil {
		a.Tool = call.ToolName
	}
	return a, err
}

// lastOf returns the newest event of a type that a session has published itself; nil means
// there is none.
func lastOf[E event.Event](ctx context.Context, s *Store, r *Record) (*E, error) {
	var zero E
	raw, err := s.bus.Last(ctx, r.Path, zero.Type())
	if err != nil || raw == nil {
		return nil, err
	}
	ev, err := event.Decode(raw)
	if err != nil {
		return nil, err
	}
	if ev, ok := ev.(E); ok {
		return &ev, nil
	}
	return nil, nil
}
