package eventbus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestFollowAll: who follows the workspace gets the events of all sessions, stored before
// and after it has begun, without envelopes, and no entry of a log.
func TestFollowAll(t *testing.T) {
	for name, bus := range map[string]*eventbus.Bus{"embedded": openBus(t, t.TempDir()), "external": openURL(t, natstest.Start(t, server.Options{}).ClientURL())} {
		t.Run(name, func(t *testing.T) {
			a, b := event.Path{{SessionID: "ses_a"}}, event.Path{{SessionID: "ses_b"}}
			child := a.Child("ses_c", "explore")
			publish := func(path event.Path, i int) {
				t.Helper()
				p := publisher(t, bus, path)
				if err := p.Append(t.Context(), "note", []byte(`{"x":1}`)); err != nil {
					t.Fatal(err)
				}
				if err := p.Publish(t.Context(), delta(i)); err != nil {
					t.Fatal(err)
				}
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			publish(a, 0)
			publish(child, 1)
			var got []string
			for ev, err := range bus.FollowAll(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				_, inner, err := ev.Event()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(strings.Join(ev.Sessions, "/"), " ", inner.(event.ContentDelta).Delta))
				switch len(got) {
				case 2:
					publish(b, 2)
				case 3:
					publish(child, 3)
				}
				if len(got) == 4 {
					break
				}
			}
			// What is of no session is no event of ours.
			if _, err := bus.JetStream().Publish(t.Context(), "agents.v1."+bus.Workspace()+".events.session_end", []byte(`{"type":"session_end"}`)); err != nil {
				t.Fatal(err)
			}
			newest, err := bus.Newest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var between []string
			for ev, err := range bus.Between(t.Context(), 0, newest) {
				if err != nil {
					t.Fatal(err)
				}
				between = append(between, strings.Join(ev.Sessions, "/"))
			}
			if want := []string{"ses_a", "ses_a/ses_c", "ses_b", "ses_a/ses_c"}; !slices.Equal(between, want) {
				t.Errorf("between the first and the newest: %q, want %q", between, want)
			}
			if want := []string{"ses_a d0", "ses_a/ses_c d1", "ses_b d2", "ses_a/ses_c d3"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
