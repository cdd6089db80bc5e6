package eventbus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestLeadGoesRound: while sessions publish in bursts the lead of the event stream goes from
// server to server, and comes back to those that have lost what they had on its way.
func TestLeadGoesRound(t *testing.T) {
	const rounds = 20
	c := newCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{URL: c.urls(), Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	conn, js := c.client()
	c.healthy(ctx, js, eventbus.Stream)
	stop := make(chan struct{})
	floods := make([]int, 4)
	var publishing sync.WaitGroup
	for i := range floods {
		p := publisher(t, bus, event.Path{{SessionID: fmt.Sprintf("flood%d", i)}})
		publishing.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for err := error(nil); err == nil; {
				for n := 0; n < 10 && err == nil; n++ {
					if err = p.Publish(ctx, delta(floods[i])); err == nil {
						floods[i]++
					}
				}
				select {
				case <-tick.C:
					if err == nil {
						continue
					}
				case <-stop:
					err = p.Flush(ctx)
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	for range rounds {
		if _, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+eventbus.Stream, nil); err != nil {
			t.Fatal(err)
		}
		c.healthy(ctx, js, eventbus.Stream)
	}
	close(stop)
	publishing.Wait()
	stored := published(t, ctx, js)
	for i, want := range floods {
		if got := len(stored[fmt.Sprintf("flood%d", i)]); got != want || want == 0 {
			t.Errorf("of %d deltas of session flood%d %d are stored", want, i, got)
		}
	}
}
