//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

// faultyAnswers are how many answers of models TestFaults has sent; SOAK=1 has 2,000.
const faultyAnswers = 96

// TestFaults has a proxy break the first tries of each answer. It cuts them at all places, resets
// connections, refuses, stalls, and lets them drip. Each task completes with the right text once, and
// no tool runs twice.
func TestFaults(t *testing.T) {
	t.Parallel()
	answers := faultyAnswers
	if os.Getenv("SOAK") != "" {
		answers = 2000
	}
	tasks := answers / 2 // each has a call and a text
	var script replaymodel.Script
	for i := range tasks {
		match := replaymodel.Match{User: fmt.Sprintf("Task %d.", i)}
		script = append(script, replaymodel.Turn{Match: match, Reasoning: replaymodel.Chunks{"I look ", "first."}, Signature: "c2ln", Text: replaymodel.Chunks{"Now ", "I ", "run it."}, ToolCalls: []replaymodel.ToolCall{
			{Name: "shell_exec", Arguments: replaymodel.Arguments(fmt.Sprintf(`{"command":"echo task %d >> ran.txt"}`, i))},
		}}, replaymodel.Turn{Match: match, Text: replaymodel.Chunks{"The answer of ", fmt.Sprintf("task %d ", i), "is ", "whole."}})
	}
	proxy := &faultProxy{to: modeltest.New(t, script, nil), asked: make(map[[32]byte]int)}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)

	dir := t.TempDir()
	agents := filepath.Join(dir, ".agents", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string]string{"messages": "anthropic/claude-haiku-5-5", "chat": "openai/gpt-5.5", "responses": "corp/m"} {
		file := "---\ndescription: Runs.\nmodel: " + model + "\n---\nRun it.\n"
		if err := os.WriteFile(filepath.Join(agents, name+".md"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startServing(t, dir, front.URL, "--allow", "shell_exec:*", "--providers", fmt.Sprintf(`{"corp": {"type": "responses", "baseUrl": "%s/v1"}}`, front.URL), "--model-timeout", "2s", "--model-retries", "20", "--max-children", "24")
	p.listens()
	var drained sync.WaitGroup
	drained.Go(func() {
		for p.lines.Scan() { // else the worker waits for its reader
		}
	})

	next := make(chan int)
	var calling sync.WaitGroup
	for range 16 {
		calling.Go(func() {
			for i := range next {
				agent := []string{"messages", "chat", "responses"}[i%3]
				said := p.post("/v1/tasks", fmt.Sprintf(`{"description":"d","prompt":"Task %d.","agentType":%q}`, i, agent))
				var got struct{ Status, Text string }
				if err := json.Unmarshal([]byte(said), &got); err != nil || got.Status != "completed" || got.Text != fmt.Sprintf("The answer of task %d is whole.", i) {
					t.Errorf("task %d of %s: %v\n%s", i, agent, err, said)
				}
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	calling.Wait()
	p.signal(syscall.SIGTERM)
	drained.Wait()

	data, err := os.ReadFile(filepath.Join(dir, "ran.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ran := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(ran)
	if all := slices.Compact(slices.Clone(ran)); len(ran) != tasks || len(all) != tasks {
		t.Errorf("%d commands ran, %d of them different, want each of %d once", len(ran), len(all), tasks)
	}
	t.Logf("%d answers, %d faults", answers, proxy.faults.Load())
	if int(proxy.faults.Load()) < answers {
		t.Errorf("%d faults, want at least one for each of %d answers", proxy.faults.Load(), answers)
	}
}

// faultProxy breaks the first tries of each answer of a server.
type faultProxy struct {
	to     http.Handler
	faults atomic.Int64

	mu    sync.Mutex
	asked map[[32]byte]int // how often, by the request's body
	kinds int              // faults so far
}

// next returns the number of the next fault; false means that the answer is passed on.
func (p *faultProxy) next(body []byte) (n int, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := sha256.Sum256(body)
	p.asked[sum]++
	if p.asked[sum] > 1+p.kinds%2 {
		return 0, false
	}
	p.kinds++
	return p.kinds, true
}

// ServeHTTP implements [http.Handler].
func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, broken := p.next(body)
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.to.ServeHTTP(answer, asked)
	if !broken {
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	p.faults.Add(1)
	if kind := n % 8; kind == 0 {
		status := []int{500, 502, 503, 504, 408, 409, 425, 429, 529}[n/8%9]
		w.Header().Set("Retry-After-Ms", "5")
		w.Header().Set("Retry-After", "0")
		http.Error(w, `{"error":{"type":"api_error","message":"not now"}}`, status)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	whole := append([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"), answer.Body.Bytes()...)
	at := n * 37 % len(whole) // all places, sooner or later
	switch n % 8 {
	case 1: // reset
		_, _ = conn.Write(whole[:at])
		_ = conn.(*net.TCPConn).SetLinger(0)
	case 2: // stall
		_, _ = conn.Write(whole[:at])
		_, _ = conn.Read(make([]byte, 1)) // until the worker gives up
	case 3: // drip
		for i := range whole {
			if _, err := conn.Write(whole[i : i+1]); err != nil {
				return
			}
		}
	case 4: // an event that can't be read
		_, _ = conn.Write(append(whole[:at:at], "\n\ndata: {\"a\":[\n\ndata: {}\n\n"...))
	default: // cut
		_, _ = conn.Write(whole[:at])
	}
}
