package httpserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/metrics"
	"github.com/agentworker/worker/model"
)

// snapshot is what the metrics tell.
func (s *Server) snapshot(ctx context.Context) metrics.Snapshot {
	load, used := s.tasks.Load(), s.tasks.Totals()
	m := metrics.Snapshot{
		Running: s.tasks.Running(), Queued: load.Queued, Capacity: load.Capacity, Approvals: -1, StoreUp: s.storeAnswers(ctx) == nil,
		ModelCalls: used.ModelCalls, ToolCalls: used.ToolCalls, InputTokens: used.InputTokens, OutputTokens: used.OutputTokens,
		CacheReadTokens: used.CacheReadTokens, CacheWriteTokens: used.CacheWriteTokens, CostUSD: float64(used.Cost) / float64(model.Dollar),
	}
	if m.StoreUp {
		if waiting, err := s.sessions.Approvals(ctx); err == nil {
			m.Approvals = len(waiting)
		}
	}
	return m
}

// measure answers with the metrics.
func (s *Server) measure(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		s.fail(w, err)
		return
	}
	s.metrics.ServeHTTP(w, r)
}

// profile answers what pprof asks. It is for the owner, who is let in on loopback addresses
// only.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("profile") {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}

// counted is an answer whose status is noted.
type counted struct {
	http.ResponseWriter
	route   string // that it was answered by; empty means none
	status  int
	revoked atomic.Bool // its caller may not have the rest of it
}

// errRevoked is the error of writing more to somebody whose token was removed.
var errRevoked = errors.New("the token does not count any more")

// WriteHeader implements [http.ResponseWriter].
func (c *counted) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (c *counted) Write(data []byte) (int, error) {
	if c.revoked.Load() {
		return 0, errRevoked
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// count counts the requests that next answers.
func (s *Server) count(next func(w *counted, r *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w}
		defer func() {
			if c.status == 0 {
				c.status = http.StatusOK
			}
			s.metrics.Request(c.route, r.Method, c.status)
		}()
		next(c, r)
	})
}
