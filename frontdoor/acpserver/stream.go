package acpserver

import (
	"context"
	"sync"

	"github.com/agentworker/worker/session"
)

// stream is how far the client has been shown the stream of a session.
type stream struct {
	root *session.Session
	done chan struct{} // closed when nothing more is shown

	mu    sync.Mutex
	seq   uint64        // all up to it is shown
	moved chan struct{} // closed with the next change of seq
}

func newStream(root *session.Session) *stream {
	return &stream{root: root, done: make(chan struct{}), moved: make(chan struct{})}
}

// await returns when all up to a number is shown, with 0 when nothing more is shown.
func (s *stream) await(ctx context.Context, seq uint64) {
	for {
		s.mu.Lock()
		reached, moved := seq > 0 && s.seq >= seq, s.moved
		s.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-moved:
		case <-s.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// shown notes that all up to a number is shown.
func (s *stream) shown(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq = seq
	close(s.moved)
	s.moved = make(chan struct{})
}
