package modeltest

import (
	"net/http"
	"time"
)

// stream sends an answer. When the client has left, its methods do nothing.
type stream struct {
	w       http.ResponseWriter
	r       *http.Request
	split   int
	closing <-chan struct{}
	header  http.Header
	begun   bool
}

// send sends data in pieces, each of them at once.
func (s *stream) send(data []byte) {
	if !s.begun {
		for name, values := range s.header {
			s.w.Header()[name] = values
		}
		s.w.WriteHeader(http.StatusOK)
		s.begun = true
	}
	flusher := http.NewResponseController(s.w)
	for len(data) > 0 {
		n := len(data)
		if s.split > 0 {
			n = min(n, s.split)
		}
		if _, err := s.w.Write(data[:n]); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
		data = data[n:]
	}
}

// wait waits for d.
func (s *stream) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.r.Context().Done():
	case <-s.closing:
	}
}

// hang waits until the client goes.
func (s *stream) hang() {
	select {
	case <-s.r.Context().Done():
	case <-s.closing:
	}
}

// cut breaks the connection: the client sees an end in the middle of the body.
func (s *stream) cut() { panic(http.ErrAbortHandler) }
