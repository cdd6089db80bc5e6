// Package metrics has the metrics of a worker in the form of Prometheus.
package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxAgents bounds the agents that have a line of their own: their names come from files.
const maxAgents = 100

// gatherTime is how long a scrape may take.
const gatherTime = 5 * time.Second

// Snapshot is what a worker is doing, and has done since it began.
type Snapshot struct {
	Running   map[string]int // sessions in this process, by agent
	Queued    int            // subagents that wait for a slot
	Capacity  int            // subagents of callers that may run at once
	Approvals int            // tool calls of the workspace that wait for an answer; -1: not known
	StoreUp   bool           // the event store answers

	ModelCalls, ToolCalls                                        int64
	InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64
	CostUSD                                                      float64
}

// Metrics are the metrics of a server.
type Metrics struct {
	gather   func(context.Context) Snapshot
	requests *prometheus.CounterVec
	handler  http.Handler
}

// row is a metric that is looked up at each scrape.
type row struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s Snapshot, say func(v float64, labels ...string)) // says nothing of what is not known
}

// rows are all of them.
var rows = []row{
	gauge("sessions_running", "Sessions that run in this process, by agent.", sayRunning, "agent"),
	gauge("tasks_queued", "Subagents that wait for a slot.", one(func(s Snapshot) float64 { return float64(s.Queued) })),
	gauge("tasks_capacity", "Subagents of callers that may run at once.", one(func(s Snapshot) float64 { return float64(s.Capacity) })),
	gauge("approvals_waiting", "Tool calls of the workspace that wait for an answer.", func(s Snapshot, say func(float64, ...string)) {
		if s.Approvals >= 0 {
			say(float64(s.Approvals))
		}
	}),
	gauge("store_up", "1 if the event store answers, else 0.", one(func(s Snapshot) float64 {
		if s.StoreUp {
			return 1
		}
		return 0
	})),
	counter("model_calls_total", "Model calls.", one(func(s Snapshot) float64 { return float64(s.ModelCalls) })),
	counter("tool_calls_total", "Tool calls.", one(func(s Snapshot) float64 { return float64(s.ToolCalls) })),
	counter("tokens_total", "Tokens of model calls. Those of caches are part of the input.", func(s Snapshot, say func(float64, ...string)) {
		say(float64(s.InputTokens), "input")
		say(float64(s.OutputTokens), "output")
		say(float64(s.CacheReadTokens), "cache_read")
		say(float64(s.CacheWriteTokens), "cache_write")
	}, "kind"),
	counter("cost_dollars_total", "What model calls cost in US dollars, as far as that is known.", one(func(s Snapshot) float64 { return s.CostUSD })),
}

func gauge(name, help string, value func(Snapshot, func(float64, ...string)), labels ...string) row {
	return row{prometheus.NewDesc("worker_"+name, help, labels, nil), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(Snapshot, func(float64, ...string)), labels ...string) row {
	return row{prometheus.NewDesc("worker_"+name, help, labels, nil), prometheus.CounterValue, value}
}

// one is the value of a metric without labels.
func one(of func(Snapshot) float64) func(Snapshot, func(float64, ...string)) {
	return func(s Snapshot, say func(float64, ...string)) { say(of(s)) }
}

// sayRunning has a line for each of the first agents, and one for all others.
func sayRunning(s Snapshot, say func(float64, ...string)) {
	others := 0
	for i, agent := range slices.Sorted(maps.Keys(s.Running)) {
		if i >= maxAgents || agent == "other" {
			others += s.Running[agent]
			continue
		}
		say(float64(s.Running[agent]), agent)
	}
	if others > 0 {
		say(float64(others), "other")
	}
}

// New returns metrics in a registry of their own. gather is called for each scrape.
func New(gather func(context.Context) Snapshot, log *slog.Logger) *Metrics {
	m := &Metrics{gather: gather, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "worker_http_requests_total", Help: "HTTP requests, by route, method and status.",
	}, []string{"route", "method", "code"})}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, collector{m})
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), DisableCompression: true})
	return m
}

// ServeHTTP implements [http.Handler].
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Request counts an answer. route is one of the server's; empty means none.
func (m *Metrics) Request(route, method string, code int) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(cmp.Or(route, "none"), method, strconv.Itoa(code)).Inc()
}

// collector looks at the worker at each scrape.
type collector struct{ of *Metrics }

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, r := range rows {
		to <- r.desc
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
	defer cancel()
	s := c.of.gather(ctx)
	for _, r := range rows {
		r.value(s, func(v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(r.desc, r.kind, v, labels...)
		})
	}
}
