package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestFormShowsAll: the first line of the message holds the call in full. A rule is offered
// only if the host's user sees all of the message.
func TestFormShowsAll(t *testing.T) {
	for _, tt := range []struct {
		name, command, first string
		choices              []string
	}{
		{"short", "echo hello", "general asks to run echo hello", []string{"deny", "allow once", "allow always"}},
		{
			"many commands", "ls && pwd && date && whoami && uname && id && hostname && uptime && echo a && echo b && rm -rf victim",
			"general asks to run ls && pwd && date && whoami && uname && id && hostname && uptime && echo a && echo b && rm -rf victim",
			[]string{"deny", "allow once"},
		},
		{"long", "echo " + strings.Repeat("a ", 200) + "&& echo b", "general asks to run echo " + strings.Repeat("a ", 200) + "&& echo b", []string{"deny", "allow once"}},
		{"wide", "echo " + strings.Repeat("字", 90), "general asks to run echo " + strings.Repeat("字", 90), []string{"deny", "allow once"}},
		{"hidden", "echo a\u200b\u202eb\u3164\x1b[8m", `general asks to run echo a\u{200b}\u{202e}b\u{3164}\u{1b}[8m`, []string{"deny", "allow once", "allow always"}},
		{"too long to be sent", "echo " + strings.Repeat("a", 5000) + "; rm x", "", []string{"deny"}},
	} {
		for _, client := range []string{"claude-code", "somebody"} {
			t.Run(client+" "+tt.name, func(t *testing.T) {
				e := setup{model: shell{}, rules: new(asking)}.open(t)
				host := e.connectAs(t, client, "", elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					first, rest, _ := strings.Cut(req.Params.Message, "\n")
					if tt.first != "" && first != tt.first {
						t.Errorf("first line %q, want %q", first, tt.first)
					}
					got := choices(t, req)
					if !slices.Equal(got, tt.choices) {
						t.Errorf("choices %q, want %q", got, tt.choices)
					}
					if says := strings.Contains(rest, "allow always"); says != slices.Contains(got, "allow always") {
						t.Errorf("always is explained %v with the choices %q", says, got)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, nil
				}))
				if got := text(t, callTool(t, host, "task", call("general", tt.command).Arguments)); !strings.Contains(got, "The user denied shell_exec.") {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// TestFormReason: Codex can't send a form while a text field is empty.
func TestFormReason(t *testing.T) {
	for client, want := range map[string]bool{"codex-mcp-client": false, "claude-code": true, "somebody": true} {
		e := setup{model: shell{}, rules: new(asking)}.open(t)
		host := e.connectAs(t, client, "2025-06-18", elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, err := json.Marshal(req.Params.RequestedSchema)
			if has := strings.Contains(string(schema), `"reason"`); err != nil || has != want {
				t.Errorf("%s: reason in the form %v, %v, want %v", client, has, err, want)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, nil
		}))
		callTool(t, host, "task", call("general", "echo hello").Arguments)
	}
}

// TestHasty: a form that is accepted before anybody can have read it is put
// again, and not without end.
func TestHasty(t *testing.T) {
	for _, version := range generations {
		e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Reflex: time.Hour, Unseen: time.Nanosecond}}.open(t)
		asked := 0
		host := e.connectAs(t, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			schema, err := json.Marshal(req.Params.RequestedSchema)
			if says := strings.Contains(string(schema), "too soon"); err != nil || says != (asked > 1) {
				t.Errorf("%s: the form says that the answer came too soon %v, %v, when asked for the %d. time", version, says, err, asked)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
		}))
		res := callTool(t, host, "task", call("general", "echo hello").Arguments)
		if asked != 3 || res.Meta["status"] != "running" || !strings.Contains(text(t, res), "waits for approval: worker approvals approve "+e.pending(t).ID) {
			t.Errorf("%s: asked %d times, then %q; want 3, and how to approve it elsewhere", version, asked, text(t, res))
		}
		e.approve(t, e.pending(t))
		if got := text(t, callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))); !strings.Contains(got, "hello") {
			t.Errorf("%s: %q, want the answer", version, got)
		}
	}
}

// TestUnseen: a call whose approval the host's user can't see is answered with
// how to approve it; the next call waits.
func TestUnseen(t *testing.T) {
	declines := elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	})
	for _, version := range generations {
		for name, opts := range map[string]*mcp.ClientOptions{"no forms": nil, "declines at once": declines} {
			e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Reflex: time.Hour, Unseen: time.Nanosecond}}.open(t)
			host := e.connectAs(t, "test-host", version, opts)
			res := callTool(t, host, "task", call("general", "echo hello").Arguments)
			got, id := text(t, res), e.pending(t).ID
			if res.Meta["status"] != "running" || !strings.Contains(got, "waits for approval: worker approvals approve "+id) || !strings.Contains(got, "echo hello") {
				t.Fatalf("%s, %s: %q", version, name, got)
			}
			var waiting sync.WaitGroup
			waiting.Go(func() {
				if got := text(t, callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))); !strings.Contains(got, "hello") || strings.Contains(got, "waits for approval") {
					t.Errorf("%s, %s: task_wait: %q, want the answer", version, name, got)
				}
			})
			e.approve(t, e.pending(t))
			waiting.Wait()
		}
	}
}
