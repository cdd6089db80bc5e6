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
		deliver := func(ev *stored) (more bool, err error) {
			placed, ok, err := place(ctx, b, ev)
			if err != nil || !ok {
				return err == nil, err
			}
			return yield(placed, nil), nil
		}
		if err := b.fanOut.follow(ctx, allSubject(b), from, deliver); err != nil {
			yield(Placed{}, fmt.Errorf("following the workspace: %w", err))
		}
	}
}

// Between is FollowAll of the events between two sequence numbers, both included. It ends after
// the last one.
func (b *Bus) Between(ctx context.Context, from, to uint64) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) {
		for m, err := range b.Range(ctx, b.events, from, to) {
			var placed Placed
			ok := err == nil && strings.HasPrefix(m.Subject, allSubject(b)+".") // others share the stream
			if ok {
				placed, ok, err = place(ctx, b, m)
			}
			if (ok || err != nil) && !yield(placed, err) || err != nil {
				return
			}
		}
	}
}

// allSubject is what the subjects of all events of the workspace begin with.
func allSubject(b *Bus) string { return "agents.v1." + b.workspace + ".events" }

// place returns a stored message as an event. ok false: it is none.
func place(ctx context.Context, b *Bus, ev *stored) (_ Placed, ok bool, err error) {
	place := strings.TrimPrefix(ev.Subject, allSubject(b)+".")
	if strings.HasPrefix(place, logPrefix) {
		return Placed{}, false, nil
	}
	ids := strings.Split(place, ".")
	if ids = ids[:len(ids)-1]; len(ids) == 0 { // the type is left out: this is of no session, and nobody's here
		return Placed{}, false, nil
	}
	raw, err := event.Strip(ev.Data, len(ids)-1)
	if err == nil {
		raw, err = b.payloads.resolve(ctx, raw)
	}
	if err != nil {
		return Placed{}, false, fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	return Placed{Delivery{Seq: ev.Seq, Time: ev.Time, Raw: raw}, ids}, true, nil
}
