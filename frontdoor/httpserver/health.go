package httpserver

import (
	"context"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// readyTime is how long the event store may take to say that it is there.
const readyTime = 2 * time.Second

// state is how the server is, in a word.
type state struct {
	Status string `json:"status"`
}

// healthy says that the process answers.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, state{"ok"})
}

// ready says whether calls can be taken: the server is not ending, and the event store
// answers.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.calls.Closed() {
		s.fail(w, caller.ErrClosed)
		return
	}
	if err := s.storeAnswers(r.Context()); err != nil {
		s.log.Warn("the event store does not answer", "err", err)
		s.fail(w, &caller.Error{Status: http.StatusServiceUnavailable, Code: "not_ready", Message: "the event store does not answer"})
		return
	}
	s.answer(w, http.StatusOK, state{"ready"})
}

// storeAnswers asks the event store for its newest entry.
func (s *Server) storeAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	_, err := s.bus.Newest(ctx)
	return err
}
