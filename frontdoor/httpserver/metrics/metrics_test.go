package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver/metrics"
)

// TestMetrics: however many agents there are, and whatever clients send, the number of lines
// is bounded.
func TestMetrics(t *testing.T) {
	running := map[string]int{"": 1, "other": 2}
	for i := range 500 {
		running[fmt.Sprintf("agent\n%03d", i)] = 1
	}
	m := metrics.New(func(context.Context) metrics.Snapshot {
		return metrics.Snapshot{Running: running, Queued: 7, Approvals: -1, ToolCalls: 3, CostUSD: 0.25}
	}, slog.New(slog.DiscardHandler))
	for i := range 300 {
		m.Request("", fmt.Sprintf("METHOD%d", i), 404)
	}
	m.Request("/v1/sessions/{id}", "GET", 200)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	for _, want := range []string{
		`worker_sessions_running{agent="agent\n000"} 1`, `worker_sessions_running{agent="other"} 403`, "worker_tasks_queued 7\n", "worker_store_up 0\n",
		"worker_tool_calls_total 3\n", "worker_cost_dollars_total 0.25\n", `worker_tokens_total{kind="cache_read"} 0`,
		`worker_http_requests_total{code="404",method="other",route="none"} 300`, `worker_http_requests_total{code="200",method="GET",route="/v1/sessions/{id}"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if n := strings.Count(text, "\n"); n > 150 || strings.Contains(text, "approvals_waiting") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// TestReference holds that the reference has the metrics that are served, and no others.
func TestReference(t *testing.T) {
	m := metrics.New(func(context.Context) metrics.Snapshot { return metrics.Snapshot{Running: map[string]int{"": 1}} }, slog.New(slog.DiscardHandler))
	m.Request("", "GET", 200)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page, err := os.ReadFile("../../../docs/reference/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var served, described []string
	for _, f := range regexp.MustCompile(`(?m)^# TYPE (\w+)`).FindAllStringSubmatch(w.Body.String(), -1) {
		served = append(served, f[1])
	}
	for _, f := range regexp.MustCompile("`(worker_\\w+)[`{]").FindAllStringSubmatch(string(page), -1) {
		described = append(described, f[1])
	}
	slices.Sort(served)
	slices.Sort(described)
	if described = slices.Compact(described); len(served) == 0 || !slices.Equal(served, described) {
		t.Errorf("served:\n%v\ndescribed:\n%v", served, described)
	}
}
