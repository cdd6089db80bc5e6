package acpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
)

// knowing is a client that declares the capability for subagents.
type knowing struct {
	t    *testing.T
	conn *acp.Connection
	got  []params // updates
	end  func()
}

// params are those of an update, or of a question.
type params struct {
	SessionID string         `json:"sessionId"`
	Update    map[string]any `json:"update"`
	ToolCall  map[string]any `json:"toolCall"`
}

func (e *env) knowing() *knowing {
	to, from, end := e.serve(acpserver.Options{})
	k := &knowing{t: e.t, end: end}
	k.conn = acp.NewConnection(func(_ context.Context, method string, raw json.RawMessage) (any, *acp.RequestError) {
		var p params
		if err := json.Unmarshal(raw, &p); err != nil {
			e.t.Error(err)
		}
		if method == acp.ClientMethodSessionRequestPermission {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow_once"}}, nil
		}
		k.got = append(k.got, p)
		return nil, nil
	}, to, from)
	k.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"subagents": map[string]any{}}})
	return k
}

func (k *knowing) call(method string, params any) map[string]any {
	k.t.Helper()
	result, err := acp.SendRequest[map[string]any](k.conn, k.t.Context(), method, params)
	if err != nil {
		k.t.Fatal(err)
	}
	return result
}

// received returns the states of the subagent below root, and the kinds of its own updates, as
// the client got them.
func (k *knowing) received(root string) (child, states, lines string) {
	k.t.Helper()
	var were, kinds []string
	for _, p := range k.got {
		switch kind := p.Update["sessionUpdate"]; {
		case kind == "subagent_update":
			if p.SessionID != root {
				k.t.Errorf("announced to %s: %v", p.SessionID, p.Update)
			}
			if child == "" {
				child, _ = p.Update["sessionId"].(string)
				if p.Update["title"] != "general" || p.Update["description"] != "touch it" {
					k.t.Errorf("announced as %v", p.Update)
				}
			}
			state, _ := p.Update["state"].(map[string]any)["state"].(string)
			if len(were) == 0 || were[len(were)-1] != state {
				were = append(were, state)
			}
		case p.SessionID == child:
			line, _ := kind.(string)
			kinds = append(kinds, line)
		case p.SessionID != root:
			k.t.Errorf("an update of %q, which was not announced: %v", p.SessionID, p.Update)
		}
	}
	return child, strings.Join(were, " "), strings.Join(kinds, " ")
}

// TestSubagents: a client that declares the capability gets a subagent as a session,
// which is announced before its updates. What is asked is asked in the session of the
// protocol all the same. When the conversation is loaded again, its subagents are, too.
func TestSubagents(t *testing.T) {
	e := newEnv(t, touching)
	k := e.knowing()
	root, _ := k.call("session/new", map[string]any{"cwd": e.Root, "mcpServers": []any{}})["sessionId"].(string)
	k.call("session/prompt", map[string]any{"sessionId": root, "prompt": []any{map[string]any{"type": "text", "text": "work"}}})
	k.end()
	child, states, lines := k.received(root)
	if states != "unknown running requires_action running idle" {
		t.Errorf("states: %s", states)
	}
	if lines != "tool_call tool_call_update agent_message_chunk" {
		t.Errorf("the subagent's: %s", lines)
	}

	k = e.knowing()
	k.call("session/load", map[string]any{"sessionId": root, "cwd": e.Root, "mcpServers": []any{}})
	k.end()
	again, states, lines := k.received(root)
	if again != child || states != "unknown idle" {
		t.Errorf("loaded, %s and not %s has the states %s", again, child, states)
	}
	if lines != "user_message_chunk tool_call tool_call_update agent_message_chunk" {
		t.Errorf("loaded, the subagent's: %s", lines)
	}
	if first, last := k.got[0].Update["sessionUpdate"], k.got[len(k.got)-1]; first != "user_message_chunk" || last.SessionID != root || last.Update["sessionUpdate"] != "agent_message_chunk" {
		t.Errorf("loaded, the conversation begins with %v and ends with %v", first, last)
	}
}
