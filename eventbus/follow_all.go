package eventbus

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
)

// Placed is an event of any session of the workspace.
type Placed struct {
	Delivery // Raw is the event itself, without envelopes

	// Sessions are the ids of the sessions from the root down to the one that has
	// published the event, or [event.WorkspaceStream] alone.
	Sessions []string
}

// FollowAll yields the events of the workspace and all of its sessions, from a sequence number
// on. Each comes once, in the order of storing. New ones follow until ctx ends. An error is
// the last value; the end of ctx is one. Leaving the loop ends it.
func (b *Bus) FollowAll(ctx context.Context, from uint64) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) {
		subject := "agents.v1." + b.workspace + ".events"
		deliver := func(ev *stored) (more bool, err error) {
			place := strings.TrimPrefix(ev.Subject, subject+".")
			if strings.HasPrefix(place, logPrefix) { // no event
				return true, nil
			}
			ids := strings.Split(place, ".")
			ids = ids[:len(ids)-1] // the type is left out
			raw, err := event.Strip(ev.Data, len(ids)-1)
			if err == nil {
				raw, err = b.payloads.resolve(ctx, raw)
			}
			if err != nil {
				return false, fmt.Errorf("event %d: %w", ev.Seq, err)
			}
			return yield(Placed{Delivery{Seq: ev.Seq, Time: ev.Time, Raw: raw}, ids}, nil), nil
		}
		if err := b.fanOut.follow(ctx, subject, from, deliver); err != nil {
			yield(Placed{}, fmt.Errorf("following the workspace: %w", err))
		}
	}
}
