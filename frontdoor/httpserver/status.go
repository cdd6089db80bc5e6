package httpserver

import (
	"context"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/metrics"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/model"
)

// statusAPI serves how the worker is doing.
type statusAPI struct {
	*Options
	calls   *caller.Pool
	metrics *metrics.Metrics
}

// readyTime is how long the event store may take to say that it is there.
const readyTime = 2 * time.Second

// state is how the server is, in a word.
type state struct {
	Status string `json:"status"`
}

// healthy says that the process answers.
func (s statusAPI) healthy(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, state{"ok"})
}

// ready says whether calls are accepted: the server is not ending, and the event store
// answers.
func (s statusAPI) ready(w http.ResponseWriter, r *http.Request) error {
	if s.calls.Closed() {
		return caller.ErrClosed
	}
	if err := s.storeAnswers(r.Context()); err != nil {
		s.Logger.Warn("the event store does not answer", "err", err)
		return caller.NotReady(err)
	}
	return answer(w, http.StatusOK, state{"ready"})
}

// storeAnswers asks the event store for its newest entry.
func (o *Options) storeAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	_, err := o.Bus.Newest(ctx)
	return err
}

// snapshot is what the metrics show.
func (o *Options) snapshot(ctx context.Context) metrics.Snapshot {
	load, used := o.Tasks.Load(), o.Tasks.Totals()
	m := metrics.Snapshot{
		Running: o.Tasks.Running(), Queued: load.Queued, Capacity: load.Capacity, Approvals: -1, StoreUp: o.storeAnswers(ctx) == nil,
		ModelCalls: used.ModelCalls, ToolCalls: used.ToolCalls, InputTokens: used.InputTokens, OutputTokens: used.OutputTokens,
		CacheReadTokens: used.CacheReadTokens, CacheWriteTokens: used.CacheWriteTokens, CostUSD: float64(used.Cost) / float64(model.Dollar),
	}
	if m.StoreUp {
		if waiting, err := o.Sessions.Approvals.Pending(ctx); err == nil {
			m.Approvals = len(waiting)
		}
	}
	return m
}

// measure answers with the metrics.
func (s statusAPI) measure(w http.ResponseWriter, r *http.Request) error {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	s.metrics.ServeHTTP(w, r)
	return nil
}

// profile answers what pprof asks. It is for the owner, who is let in on loopback addresses
// only.
func (s statusAPI) profile(w http.ResponseWriter, r *http.Request) {
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
