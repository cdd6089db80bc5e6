package acpserver

import (
	"context"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// ahead is how many events are read of a stream ahead of a client that reads slowly.
const ahead = 64

// follow shows what a session and those below it do, until it has ended.
func (t *talk) follow(s *stream) {
	defer close(s.done)
	ctx, stop := context.WithCancel(t.life)
	var below sync.WaitGroup
	defer below.Wait()
	defer stop()
	deliveries := make(chan eventbus.Delivery, ahead)
	below.Go(func() {
		defer close(deliveries)
		for d, err := range t.opts.Bus.Follow(ctx, event.Path{{SessionID: s.root.ID()}}, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				if ctx.Err() == nil {
					t.log.Warn("what the session does is not shown any more", "session", s.root.ID(), "err", err)
				}
				return
			}
			select {
			case deliveries <- d:
			case <-ctx.Done():
				return
			}
			if d.Ends() {
				return
			}
		}
	})
	v := newRenderer(ctx, t, &below)
	n := 0
	for d := range deliveries {
		v.show(d)
		if n++; len(deliveries) == 0 || n == ahead { // of several changes of a subagent, one update
			v.flush()
			s.shown(d.Seq)
			n = 0
		}
	}
}
