package httpserver

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// DefaultMaxStreams is how many streams a token may hold open at once.
const DefaultMaxStreams = 1000

// streams counts the open streams of each token.
type streams struct {
	most int
	mu   sync.Mutex
	open map[string]int // by the name of the token; "" is the owner's
}

// begin notes an open request that may be a stream. Call end when it is over.
func (s *streams) begin(method string, to route, identity caller.Identity) (end func(), err error) {
	if method != http.MethodGet || !to.streams {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[identity.Name] >= s.most {
		return nil, &caller.Error{
			Status: http.StatusTooManyRequests, Code: "too_many_streams",
			Message: fmt.Sprintf("%d streams of this token are open, as many as a token may hold (--max-streams): close one, or follow several sessions by that of their root", s.most),
		}
	}
	if s.open == nil {
		s.open = make(map[string]int)
	}
	s.open[identity.Name]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[identity.Name]--; s.open[identity.Name] == 0 {
			delete(s.open, identity.Name)
		}
	}, nil
}
