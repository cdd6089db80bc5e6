package acpserver

import (
	"context"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session"
)

// stream is how far the client has been shown the stream of a session.
type stream struct {
	root *session.Session
	done chan struct{} // closed when nothing more is shown

	mu    sync.Mutex
	seq   uint64 // all up to it is shown
	want  uint64
	there chan struct{} // closed when want is shown; nil means nobody waits
}

func newStream(root *session.Session) *stream {
	return &stream{root: root, done: make(chan struct{})}
}

// await returns when all up to a number is shown, with 0 when nothing more is shown.
func (s *stream) await(ctx context.Context, seq uint64) {
	var there chan struct{}
	if seq > 0 {
		s.mu.Lock()
		if s.seq >= seq {
			s.mu.Unlock()
			return
		}
		there = make(chan struct{})
		s.want, s.there = seq, there
		s.mu.Unlock()
	}
	select {
	case <-there:
	case <-s.done:
	case <-ctx.Done():
	}
}

// shown notes that all up to a number is shown.
func (s *stream) shown(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seq = seq; s.there != nil && seq >= s.want {
		close(s.there)
		s.there = nil
	}
}

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
	v := newView(ctx, t, &below)
	n := 0
	for d := range deliveries {
		v.take(d)
		if n++; len(deliveries) == 0 || n == ahead { // of several changes of a subagent, one update
			v.flush()
			s.shown(d.Seq)
			n = 0
		}
	}
}
