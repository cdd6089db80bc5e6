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

var (
	running   = describe("sessions_running", "Sessions that run in this process, by agent.", "agent")
	queued    = describe("tasks_queued", "Subagents that wait for a slot.")
	capacity  = describe("tasks_capacity", "Subagents of callers that may run at once.")
	approvals = describe("approvals_waiting", "Tool calls of the workspace that wait for an answer.")
	storeUp   = describe("store_up", "1 if the event store answers, else 0.")
	calls     = describe("model_calls_total", "Model calls.")
	tools     = describe("tool_calls_total", "Tool calls.")
	tokens    = describe("tokens_total", "Tokens of model calls. Those of caches are part of the input.", "kind")
	cost      = describe("cost_dollars_total", "What model calls cost in US dollars, as far as that is known.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("worker_"+name, help, labels, nil)
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
	for _, d := range []*prometheus.Desc{running, queued, capacity, approvals, storeUp, calls, tools, tokens, cost} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
	defer cancel()
	s := c.of.gather(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	others := 0
	for i, agent := range slices.Sorted(maps.Keys(s.Running)) {
		if i >= maxAgents || agent == "other" {
			others += s.Running[agent]
			continue
		}
		gauge(running, float64(s.Running[agent]), agent)
	}
	if others > 0 {
		gauge(running, float64(others), "other")
	}
	up := 0.0
	if s.StoreUp {
		up = 1
	}
	gauge(storeUp, up)
	gauge(queued, float64(s.Queued))
	gauge(capacity, float64(s.Capacity))
	if s.Approvals >= 0 {
		gauge(approvals, float64(s.Approvals))
	}
	counter(calls, float64(s.ModelCalls))
	counter(tools, float64(s.ToolCalls))
	for kind, n := range map[string]int64{"input": s.InputTokens, "output": s.OutputTokens, "cache_read": s.CacheReadTokens, "cache_write": s.CacheWriteTokens} {
		counter(tokens, float64(n), kind)
	}
	counter(cost, s.CostUSD)
}
