package index

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Activity is the last sign of what a session does.
type Activity struct {
	At   time.Time // of its newest event; zero means it has none
	Tool string    // of the newest running call; empty means none runs
}

// Activity returns the last sign of what a record's session does. It looks at the session's
// own events, not at those of the sessions below it.
func (x *Index) Activity(ctx context.Context, r *record.Record) (Activity, error) {
	a, err := x.activity(ctx, r)
	if err != nil {
		return a, fmt.Errorf("looking for what session %s does: %w", r.ID, err)
	}
	return a, nil
}

func (x *Index) activity(ctx context.Context, r *record.Record) (a Activity, err error) {
	if a.At, err = x.bus.LastTime(ctx, r.Path); err != nil {
		return a, err
	}
	_, call, err := x.Doing(ctx, r)
	a.Tool = call.ToolName
	return a, err
}

// Doing returns the newest status of a session and, while calls of tools run, the newest of
// them. Zero values mean there is none.
func (x *Index) Doing(ctx context.Context, r *record.Record) (status event.StatusChange, call event.ToolCallStart, err error) {
	calling := uint64(0) // since which event
	for d, err := range x.bus.Stored(ctx, r.Path, r.Path, status.Type(), 0) {
		if err != nil {
			return status, call, err
		}
		if status, err = own[event.StatusChange](d); err != nil {
			return status, call, err
		}
		switch calls := status.Status.Calling(); {
		case !calls:
			calling = 0
		case calling == 0:
			calling = d.Seq
		}
	}
	if calling == 0 {
		return status, call, nil
	}
	for d, err := range x.bus.Stored(ctx, r.Path, r.Path, call.Type(), calling) {
		if err != nil {
			return status, call, err
		}
		if call, err = own[event.ToolCallStart](d); err != nil {
			return status, call, err
		}
	}
	return status, call, nil
}

// own decodes an event of the session itself.
func own[E event.Event](d eventbus.Delivery) (E, error) {
	_, ev, err := d.Event()
	e, _ := ev.(E)
	return e, err
}
