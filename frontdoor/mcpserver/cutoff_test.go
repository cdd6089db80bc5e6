package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestAttempts: each answer without a result asks for another call than the one
// before, which the tool takes.
func TestAttempts(t *testing.T) {
	p := newPatient()
	e := setup{model: modelFunc(p.answer), options: mcpserver.Options{CallLimit: time.Millisecond}}.open(t)
	host := e.connect(t, nil)
	res := callTool(t, host, "task", call("explore", "q").Arguments)
	asks := regexp.MustCompile(`call task_wait with (\{[^}]*\})`)
	seen := make(map[string]bool)
	for range 6 {
		found := asks.FindStringSubmatch(text(t, res))
		if found == nil || seen[found[1]] {
			t.Fatalf("%q asks for no call, or for one of %v", text(t, res), seen)
		}
		seen[found[1]] = true
		if res = callTool(t, host, "task_wait", json.RawMessage(found[1])); res.IsError || res.Meta["status"] != "running" {
			t.Fatalf("%s: %q, %v", found[1], text(t, res), res.Meta)
		}
	}
	<-p.begun
	p.let <- "done"
}

// TestWaitForAll: task_wait without a session id has the children of its own
// connection.
func TestWaitForAll(t *testing.T) {
	p := newPatient()
	e := setup{model: modelFunc(p.answer), options: mcpserver.Options{CallLimit: 50 * time.Millisecond}}.open(t)
	host, other := e.connect(t, nil), e.connect(t, nil)
	if got := callTool(t, host, "task_wait", nil); got.IsError || !strings.Contains(text(t, got), "No call of task") {
		t.Errorf("before any call: %q", text(t, got))
	}
	var ids []string
	for range 2 {
		res := callTool(t, host, "task", call("explore", "q").Arguments)
		ids = append(ids, res.Meta["sessionId"].(string))
		<-p.begun
	}
	all := func(res *mcp.CallToolResult) string {
		var b strings.Builder
		for _, c := range res.Content {
			b.WriteString(c.(*mcp.TextContent).Text + "\n")
		}
		return b.String()
	}
	got := all(callTool(t, host, "task_wait", nil))
	if !strings.Contains(got, "2 subagents run") || !strings.Contains(got, ids[0]) || !strings.Contains(got, ids[1]) || !strings.Contains(got, `call task_wait with {"attempt": 1,`) {
		t.Errorf("both run: %q", got)
	}
	if got := all(callTool(t, other, "task_wait", nil)); strings.Contains(got, "ses_") {
		t.Errorf("another host's: %q", got)
	}
	p.let <- "pear"
	p.let <- "plum"
	for deadline := t.Context(); !(strings.Contains(got, "pear") && strings.Contains(got, "plum")); {
		if deadline.Err() != nil {
			t.Fatal(got)
		}
		got += all(callTool(t, host, "task_wait", nil))
	}
	if n := strings.Count(got, "<task_result agent=\"explore\">"); n != 2 {
		t.Errorf("%d answers, want 2:\n%s", n, got)
	}
	if got := all(callTool(t, host, "task_wait", nil)); !strings.Contains(got, ids[0]+": completed; task_result has its answer") || strings.Contains(got, "pear") {
		t.Errorf("all is told: %q", got)
	}
}

// TestWaitForOne: the only child is waited for as if its id was given.
func TestWaitForOne(t *testing.T) {
	p := newPatient()
	e := setup{model: modelFunc(p.answer), options: mcpserver.Options{CallLimit: 50 * time.Millisecond}}.open(t)
	host := e.connect(t, nil)
	callTool(t, host, "task", call("explore", "q").Arguments)
	<-p.begun
	p.let <- "pear"
	res := callTool(t, host, "task_wait", map[string]any{})
	for res.Meta["status"] == "running" {
		res = callTool(t, host, "task_wait", map[string]any{})
	}
	if want := "<task_result agent=\"explore\">\npear\n</task_result>"; text(t, res) != want {
		t.Errorf("%q, want %q", text(t, res), want)
	}
}

// TestStop: task_stop ends one child, or all of its connection.
func TestStop(t *testing.T) {
	for _, one := range []bool{true, false} {
		begun := make(chan string, 2)
		e := setup{model: hang(begun), options: mcpserver.Options{CallLimit: time.Millisecond}}.open(t)
		host, other := e.connect(t, nil), e.connect(t, nil)
		if got := text(t, callTool(t, host, "task_stop", nil)); !strings.Contains(got, "No subagent") {
			t.Errorf("nothing runs: %q", got)
		}
		id := callTool(t, host, "task", call("explore", "q").Arguments).Meta["sessionId"]
		<-begun
		for _, args := range []any{map[string]any{}, bySession(id)} {
			if res := callTool(t, other, "task_stop", args); strings.Contains(text(t, res), "cancelled") {
				t.Errorf("another host: %q", text(t, res))
			}
		}
		args := bySession(id)
		if !one {
			args = nil
		}
		if res := callTool(t, host, "task_stop", args); res.IsError || !strings.Contains(text(t, res), fmt.Sprintf("session %s (a test): cancelled", id)) {
			t.Errorf("%q, want it stopped", text(t, res))
		}
		res := callTool(t, host, "task_wait", bySession(id))
		for res.Meta["status"] == "running" { // a wait has 1 ms
			res = callTool(t, host, "task_wait", bySession(id))
		}
		if got := text(t, res); !strings.Contains(got, "stopped by task_stop") {
			t.Errorf("task_wait: %q", got)
		}
		if got := text(t, callTool(t, host, "task_stop", bySession(id))); !strings.Contains(got, "): cancelled") {
			t.Errorf("again: %q", got)
		}
	}
}

// cancelled is a connection of a client of that name, whose first call it has
// cancelled without a reason.
func cancelled(t *testing.T, client string, grace time.Duration, p *patient) (*env, *raw) {
	t.Helper()
	e := setup{model: modelFunc(p.answer), options: mcpserver.Options{CancelGrace: grace}}.open(t)
	r := e.raw(t.Context(), t)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, client))
	r.expect("0")
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, fmt.Sprintf(callLine, 1))
	<-p.begun
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	return e, r
}

func (r *raw) finish() {
	r.t.Helper()
	if err := r.in.Close(); err != nil {
		r.t.Fatal(err)
	}
	for r.lines.Scan() {
	}
	if err := <-r.served; err != nil {
		r.t.Error(err)
	}
}

// result returns the result of a call, passing over that of the one that was
// cancelled.
func (r *raw) result(id string) string {
	r.t.Helper()
	for {
		got, result, failure := r.answer()
		if got == id {
			return string(result) + string(failure)
		}
	}
}

// TestGrace: some hosts cancel in the same way for their time limit and for their user.
// Then the child goes on for a while, and the next call mentions it.
func TestGrace(t *testing.T) {
	t.Run("found", func(t *testing.T) {
		p := newPatient()
		e, r := cancelled(t, "codex-mcp-client", time.Hour, p)
		id := e.records(t)[0].ID
		for n := 2; ; n++ { // the server may not have read the notification yet
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"agents_list","arguments":{}}}`, n))
			got := r.result(fmt.Sprint(n))
			if strings.Contains(got, "was cut off") {
				if !strings.Contains(got, "goes on in session "+id) || !strings.Contains(got, "task_wait") || !strings.Contains(got, "task_stop") {
					t.Errorf("the next call: %s", got)
				}
				break
			}
		}
		r.send(`{"jsonrpc":"2.0","id":9000,"method":"tools/call","params":{"name":"task_wait","arguments":{}}}`)
		p.let <- "kept"
		if got := r.result("9000"); !strings.Contains(got, "kept") || strings.Contains(got, "cut off") {
			t.Errorf("task_wait: %s", got)
		}
		r.finish()
	})
	t.Run("abandoned", func(t *testing.T) {
		p := newPatient()
		e, r := cancelled(t, "codex-mcp-client", time.Nanosecond, p)
		id := e.records(t)[0].ID
		for status := ""; status != "cancelled"; {
			status = string(e.records(t)[0].Status)
			if t.Context().Err() != nil {
				t.Fatal(status)
			}
		}
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":9000,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q}}}`, id))
		if got := r.result("9000"); !strings.Contains(got, "no other one has waited for it within 1ns") {
			t.Errorf("task_wait: %s", got)
		}
		r.finish()
	})
	for name, grace := range map[string]time.Duration{"somebody": time.Hour, "codex-mcp-client": 0} {
		t.Run("at once "+name, func(t *testing.T) {
			p := newPatient()
			e, r := cancelled(t, name, grace, p)
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":9000,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q}}}`, e.records(t)[0].ID))
			if got := r.result("9000"); !strings.Contains(got, "the host has cancelled the call") {
				t.Errorf("task_wait: %s", got)
			}
			r.finish()
		})
	}
}
