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
