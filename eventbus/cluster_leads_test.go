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

// TestLeadGoesRound: the lead of the event stream goes from server to server while sessions
// publish. No event is missing, also if a server leads again that lost some when it stopped
// leading.
func TestLeadGoesRound(t *testing.T) {
	t.Parallel() // it waits, most of its time
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
		publishing.Go(func() {
			floods[i] = flood(t, ctx, bus, event.Path{{SessionID: fmt.Sprintf("flood%d", i)}}, "xx", 10, 5*time.Millisecond, stop)
		})
	}
	for range rounds(6, 20) {
		c.stepDown(ctx, conn)
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
