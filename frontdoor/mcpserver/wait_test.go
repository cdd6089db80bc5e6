package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
)

// patient is a model that answers a prompt once it is told to.
type patient struct {
	begun chan string
	let   chan string // what it answers
}

func newPatient() *patient { return &patient{make(chan string, 10), make(chan string)} }

func (p *patient) answer(ctx context.Context, prompt string, _ int) (model.Part, error) {
	p.begun <- prompt
	select {
	case text := <-p.let:
		return model.TextDelta{Text: text}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func callTool(t testing.TB, host *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func bySession(id any) map[string]any { return map[string]any{"sessionId": id} }

// TestCallLimit: a call is answered before the host's time limit, and the child goes on.
// task_wait returns its answer, only to this host.
func TestCallLimit(t *testing.T) {
	p := newPatient()
	e := setup{model: modelFunc(p.answer), options: mcpserver.Options{CallLimit: 50 * time.Millisecond}}.open(t)
	host, other := e.connect(t, nil), e.connect(t, nil)
	res := callTool(t, host, "task", call("explore", "q").Arguments)
	id, _ := res.Meta["sessionId"].(string)
	if got := text(t, res); res.IsError || id == "" || res.Meta["status"] != "running" || !strings.Contains(got, id) || !strings.Contains(got, "task_wait") || strings.Contains(got, "<task_") {
		t.Fatalf("a call that takes too long: %q (isError %v, _meta %v)", got, res.IsError, res.Meta)
	}
	if res := callTool(t, host, "task_wait", bySession(id)); res.IsError || res.Meta["status"] != "running" {
		t.Errorf("task_wait: %q, %v, want that it still runs", text(t, res), res.Meta)
	}
	if res := callTool(t, host, "task_result", bySession(id)); res.IsError || res.Meta["status"] != "running" {
		t.Errorf("task_result: %q, %v, want that it still runs", text(t, res), res.Meta)
	}
	for _, name := range []string{"task_wait", "task_result"} {
		if res := callTool(t, other, name, bySession(id)); !res.IsError || !strings.Contains(text(t, res), "no such session") {
			t.Errorf("%s of another host: %q, want an error", name, text(t, res))
		}
	}
	<-p.begun
	p.let <- "at last"
	want := "<task_result agent=\"explore\">\nat last\n</task_result>"
	for res = callTool(t, host, "task_wait", bySession(id)); res.Meta["status"] == "running"; {
		res = callTool(t, host, "task_wait", bySession(id))
	}
	if text(t, res) != want || res.IsError || res.Meta["sessionId"] != id || res.Meta["status"] != "completed" {
		t.Errorf("task_wait: %q, %v, want %q", text(t, res), res.Meta, want)
	}
	for _, name := range []string{"task_wait", "task_result"} { // from the store
		if res := callTool(t, host, name, bySession(id)); text(t, res) != want || res.Meta["status"] != "completed" {
			t.Errorf("%s after the end: %q, %v, want %q", name, text(t, res), res.Meta, want)
		}
		if res := callTool(t, other, name, bySession(id)); !res.IsError {
			t.Errorf("%s of another host: %q, want an error", name, text(t, res))
		}
	}
}

// TestWaitArguments: what task_wait and task_result refuse.
func TestWaitArguments(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	id, _ := callTool(t, host, "task", call("explore", "q").Arguments).Meta["sessionId"].(string)
	root := ""
	for _, r := range e.records(t) {
		if r.Depth == 0 {
			root = r.ID
		}
	}
	for _, tt := range []struct {
		tool, args, want string
	}{
		{"task_wait", `{"sessionId":"ses_none"}`, "no such session"},
		{"task_wait", `{"sessionId":"*"}`, "no such session"},
		{"task_wait", `{"sessionId":"ses_"}`, "no such session"},
		{"task_wait", `{"sessionId":"` + id[:8] + `"}`, "no such session"},
		{"task_wait", `{"sessionId":"` + root + `"}`, "no such session"},
		{"task_wait", `{"sessionId":7}`, "the arguments of task_wait"},
		{"task_wait", `{"session":"x"}`, "the arguments of task_wait"},
		{"task_wait", `{"sessionId":"` + id + `","timeoutSeconds":-1}`, "timeoutSeconds -1"},
		{"task_wait", `{"sessionId":"` + id + `","timeoutSeconds":1e300}`, "timeoutSeconds"},
		{"task_result", `{"sessionId":"` + root + `"}`, "no such session"},
		{"task_result", `{"sessionId":"` + id + `","offset":-1}`, "offset -1"},
		{"task_result", `{"sessionId":"` + id + `","offset":1000000}`, "offset 1000000"},
		{"task_result", `{"sessionId":"` + id + `","offset":1.5}`, "the arguments of task_result"},
	} {
		res := callTool(t, host, tt.tool, json.RawMessage(tt.args))
		if !res.IsError || !strings.Contains(text(t, res), tt.want) {
			t.Errorf("%s %s: %q (isError %v), want an error with %q", tt.tool, tt.args, text(t, res), res.IsError, tt.want)
		}
	}
}

// TestWaitTimeout: task_wait is answered after the time it asks for.
func TestWaitTimeout(t *testing.T) {
	p := newPatient()
	e := setup{model: modelFunc(p.answer)}.open(t)
	host := e.connect(t, nil)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := host.CallTool(t.Context(), call("explore", "q"))
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-p.begun
	id := e.records(t)[0].ID
	if res := callTool(t, host, "task_wait", map[string]any{"sessionId": id, "timeoutSeconds": 0.01}); res.Meta["status"] != "running" {
		t.Errorf("%q, %v, want that it still runs", text(t, res), res.Meta)
	}
	waited := make(chan *mcp.CallToolResult, 1)
	go func() { // both get the one answer
		res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_wait", Arguments: bySession(id)})
		if err != nil {
			t.Error(err)
		}
		waited <- res
	}()
	p.let <- "answer"
	for _, res := range []*mcp.CallToolResult{<-done, <-waited} {
		if !strings.Contains(text(t, res), "\nanswer\n") {
			t.Errorf("%q, want the answer", text(t, res))
		}
	}
}

// TestGivenUp: a host that cancels a call because it took too long loses
// nothing; one that wants it stopped stops it.
func TestGivenUp(t *testing.T) {
	for _, tt := range []struct {
		reason string
		stops  bool
	}{
		{"McpError: MCP error -32001: Request timed out", false},
		{"context deadline exceeded", false},
		{"AbortError: This operation was aborted", true},
		{"", true},
	} {
		p := newPatient()
		e := setup{model: modelFunc(p.answer)}.open(t)
		r := e.raw(t.Context(), t)
		r.initialize("2025-11-25")
		r.send(fmt.Sprintf(callLine, 1))
		<-p.begun
		id := e.records(t)[0].ID
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":%q}}`, tt.reason))
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q}}}`, id))
		want := "the task was cancelled: the host has cancelled the call"
		if !tt.stops {
			p.let <- "kept"
			want = "kept"
		}
		for {
			got, result, failure := r.answer()
			if got == "1" { // the host has forgotten it
				continue
			}
			if got != "2" || !strings.Contains(string(result), want) {
				t.Errorf("%q: %s %s %s, want %q", tt.reason, got, result, failure, want)
			}
			break
		}
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		for r.lines.Scan() { // the answer to 1 may come last
		}
		if err := <-r.served; err != nil {
			t.Errorf("%q: Serve: %v", tt.reason, err)
		}
	}
}

// TestRootEnded: a root session that another process has ended is replaced, and
// what was called below it is still known.
func TestRootEnded(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	first := callTool(t, host, "task", call("explore", "one").Arguments)
	records := e.records(t)
	root, ok := e.sessions.Live(records[len(records)-1].ID)
	if !ok {
		t.Fatal("the root session does not run")
	}
	if err := root.End("cancelled", nil); err != nil {
		t.Fatal(err)
	}
	second := callTool(t, host, "task", call("explore", "two").Arguments)
	for prompt, res := range map[string]*mcp.CallToolResult{"one": first, "two": second} {
		want := "<task_result agent=\"explore\">\nanswer to " + prompt + "\n</task_result>"
		if got := text(t, callTool(t, host, "task_result", bySession(res.Meta["sessionId"]))); text(t, res) != want || got != want {
			t.Errorf("%s: %q, and from the store %q, want %q", prompt, text(t, res), got, want)
		}
	}
	if got, want := e.statuses(t), "explore completed, - running, explore completed, - cancelled"; got != want {
		t.Errorf("sessions: %s, want %s", got, want)
	}
}
