package eventbus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestNothingBehindTheEnd: a process publishes on in a session that another one has
// ended, which took it for gone. The store refuses that, the publisher is told so, and
// the other sessions of the process lose nothing.
func TestNothingBehindTheEnd(t *testing.T) {
	for name, open := range map[string]func() (running, ending *eventbus.Bus){
		"external": func() (running, ending *eventbus.Bus) {
			url := natstest.Start(t, server.Options{}).ClientURL()
			return openURL(t, url), openURL(t, url)
		},
		"embedded": func() (running, ending *eventbus.Bus) {
			dir := t.TempDir()
			ending = openBus(t, dir)
			return openBus(t, dir), ending
		},
	} {
		t.Run(name, func(t *testing.T) {
			running, ending := open()
			taken, kept := event.Path{{SessionID: "ses_taken"}}, event.Path{{SessionID: "ses_kept"}}
			p, other := publisher(t, running, taken), publisher(t, running, kept)
			if err := errors.Join(p.Publish(t.Context(), event.Usage{}), p.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := publisher(t, ending, taken).End(t.Context(), event.SessionEnd{Status: "interrupted"}); err != nil {
				t.Fatal(err)
			}
			const each = 600 // more than a batch
			for range each {
				if err := other.Publish(t.Context(), event.Usage{}); err != nil {
					t.Fatal(err)
				}
				if err := p.Publish(t.Context(), event.Usage{}); err != nil && !errors.Is(err, eventbus.ErrEnded) {
					t.Fatal(err)
				}
			}
			if err := p.Flush(t.Context()); !errors.Is(err, eventbus.ErrEnded) {
				t.Errorf("flushing what is behind the end: %v, want ErrEnded", err)
			}
			if err := other.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if stored := replay(t, ending, taken, 0); len(stored) != 2 || !stored[1].Ends() {
				t.Errorf("%d events are stored, want one and the end", len(stored))
			}
			if stored := replay(t, ending, kept, 0); len(stored) != each {
				t.Errorf("of the other session %d events are stored, want %d", len(stored), each)
			}
		})
	}
}

// TestQueueOfRefused: what is queued behind the entries of a session that was refused is
// stored.
func TestQueueOfRefused(t *testing.T) {
	bus := openBus(t, t.TempDir())
	refused, other := publisher(t, bus, event.Path{{SessionID: "ses_refused"}}), publisher(t, bus, event.Path{{SessionID: "ses_other"}})
	for _, p := range []*eventbus.Publisher{refused, other} {
		if err := errors.Join(p.Publish(t.Context(), event.Usage{}), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := eventbus.QueueBehindRefused(t.Context(), refused, other); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := other.Flush(ctx); err != nil {
		t.Error(err)
	}
}
