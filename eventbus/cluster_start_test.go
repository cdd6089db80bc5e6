package eventbus_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// TestClusterForms: a worker that wants everything kept three times, and starts when
// two servers of a cluster have found each other, waits for the third.
func TestClusterForms(t *testing.T) {
	c := plannedCluster(t)
	seed := c.nodes[0].ClusterPort
	for _, n := range c.nodes { // they don't know how many they will be
		n.ClusterPorts = []int{seed}
	}
	for _, n := range c.nodes[:2] {
		c.start(n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c.led(ctx)

	line := newLine(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.nodes[0].Port)))
	refused := make(chan struct{})
	again := sync.OnceFunc(func() { close(refused) })
	var asked atomic.Int32
	line.Watch(func(sent []byte) {
		if bytes.Contains(sent, []byte("$JS.API.STREAM.CREATE."+eventbus.Stream)) && asked.Add(1) == 2 {
			again()
		}
	})
	opened := make(chan error, 1)
	go func() {
		bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{URL: "nats://" + line.Addr(), Replicas: 3})
		if err == nil {
			err = bus.Close()
		}
		opened <- err
	}()
	select {
	case <-refused:
	case err := <-opened:
		t.Fatalf("it does not ask a second time: %v", err)
	}
	c.start(c.nodes[2])
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// led waits until the cluster has a leader.
func (c *cluster) led(ctx context.Context) {
	c.t.Helper()
	_, js := c.client()
	for {
		attempt, stop := context.WithTimeout(ctx, 2*time.Second) // nobody answers without a leader
		_, err := js.AccountInfo(attempt)
		stop()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("the cluster has no leader: %v", err)
		}
	}
}
