package eventbus_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestLast: the last event of a type is found no matter how much of other types, other
// sessions and sessions below follows it.
func TestLast(t *testing.T) {
	for _, where := range []string{"embedded", "external"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			opts := &eventbus.Options{StoreDir: t.TempDir()}
			if where == "external" {
				opts = &eventbus.Options{URL: natstest.Start(t, server.Options{}).ClientURL()}
			}
			bus := bustest.Open(t, opts)
			root := event.Path{{SessionID: "ses_root"}}
			path := root.Child("ses_child", "explore")
			p := publisher(t, bus, path)
			others := []*eventbus.Publisher{publisher(t, bus, root), publisher(t, bus, path.Child("ses_below", "explore")), p}
			publish := func(p *eventbus.Publisher, ev event.Event) {
				t.Helper()
				if err := p.Publish(t.Context(), ev); err != nil {
					t.Fatal(err)
				}
			}
			last := func(eventType string) eventbus.Delivery {
				t.Helper()
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				d, err := bus.Last(t.Context(), path, eventType)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if d := last("turn_complete"); d.Seq != 0 {
				t.Errorf("of an empty log: %s", d.Raw)
			}
			publish(p, event.SessionStart{})
			if d := last("turn_complete"); d.Seq != 0 {
				t.Errorf("before any: %s", d.Raw)
			}
			for _, behind := range []int{0, 1, 63, 64, 65, 5000} {
				answer := fmt.Sprintf("answer %d", behind)
				publish(p, event.TurnComplete{Message: event.TurnMessage{Text: answer}})
				first := last("turn_complete")
				for i := range behind {
					publish(others[i%len(others)], event.Error{Message: "x"})
					if i%2 == 0 {
						publish(others[i%len(others)], event.StatusChange{Status: event.StatusStreaming})
					}
				}
				publish(p, event.StatusChange{Status: event.StatusIdle})
				d := last("turn_complete")
				_, ev, err := d.Event()
				if turn, ok := ev.(event.TurnComplete); err != nil || !ok || turn.Message.Text != answer || d.Seq != first.Seq || !d.Time.Equal(first.Time) {
					t.Errorf("with %d behind it: %s %v", behind, d.Raw, err)
				}
				if _, ev, err := last("status_change").Event(); err != nil || ev != (event.StatusChange{Status: event.StatusIdle}) {
					t.Errorf("the last status is %v, %v", ev, err)
				}
			}
		})
	}
}
