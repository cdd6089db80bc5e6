package acpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
)

// TestSubagents: a client that declares the capability gets a subagent as a session,
// which is announced before its updates. What is asked is asked in the session of the
// protocol all the same.
func TestSubagents(t *testing.T) {
	e := newEnv(t, touching)
	to, from, end := e.serve(acpserver.Options{})
	type params struct {
		SessionID string         `json:"sessionId"`
		Update    map[string]any `json:"update"`
		ToolCall  map[string]any `json:"toolCall"`
	}
	var got []params
	conn := acp.NewConnection(func(_ context.Context, method string, raw json.RawMessage) (any, *acp.RequestError) {
		var p params
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Error(err)
		}
		if method == acp.ClientMethodSessionRequestPermission {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
		}
		got = append(got, p)
		return nil, nil
	}, to, from)
	call := func(method string, params any) map[string]any {
		t.Helper()
		result, err := acp.SendRequest[map[string]any](conn, t.Context(), method, params)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"subagents": map[string]any{}}})
	root, _ := call("session/new", map[string]any{"cwd": e.Root, "mcpServers": []any{}})["sessionId"].(string)
	call("session/prompt", map[string]any{"sessionId": root, "prompt": []any{map[string]any{"type": "text", "text": "work"}}})
	end()

	child := ""
	var states, said []string
	for _, p := range got {
		switch kind := p.Update["sessionUpdate"]; {
		case kind == "subagent_update":
			if p.SessionID != root {
				t.Errorf("announced to %s: %v", p.SessionID, p.Update)
			}
			if child == "" {
				child, _ = p.Update["sessionId"].(string)
				if p.Update["title"] != "general" || p.Update["description"] != "touch it" {
					t.Errorf("announced as %v", p.Update)
				}
			}
			state, _ := p.Update["state"].(map[string]any)["state"].(string)
			if len(states) == 0 || states[len(states)-1] != state {
				states = append(states, state)
			}
		case p.SessionID == child:
			line, _ := kind.(string)
			said = append(said, line)
		case p.SessionID != root:
			t.Errorf("an update of %q, which was not announced: %v", p.SessionID, p.Update)
		}
	}
	if got := strings.Join(states, " "); got != "unknown running requires_action running idle" {
		t.Errorf("states: %s", got)
	}
	if got := strings.Join(said, " "); got != "tool_call tool_call_update agent_message_chunk" {
		t.Errorf("the subagent's: %s", got)
	}
}
