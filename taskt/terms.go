package taskt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/input"
)

// terms are how a session was called, as its log has them. A session that resumes it is called
// the same way, and may do no more.
type terms struct {
	Rules [][]string   `json:"rules"`          // the agent's, in their order: tool, pattern, action, "own" for the worker's
	Call  *input.Input `json:"call,omitempty"` // nil means it is plain
}

// ownRule marks one of [permission.Rule.Own].
const ownRule = "own"

// newTerms returns the JSON of the terms of a session. in nil means a plain call.
func newTerms(rules *permission.Ruleset, in *input.Input) json.RawMessage {
	t := terms{Rules: [][]string{}}
	for r := range rules.Rules() {
		rule := []string{r.Tool, r.Pattern, r.Action.String()}
		if r.Own {
			rule = append(rule, ownRule)
		}
		t.Rules = append(t.Rules, rule)
	}
	if in != nil && !in.Plain() {
		call := *in
		call.Prompt = "" // the conversation begins with it
		t.Call = &call
	}
	data, err := json.Marshal(t)
	if err != nil { // strings and what was read from JSON always have a JSON form
		panic(err)
	}
	return data
}

// readTerms returns the terms of the session at the end of a path.
func readTerms(ctx context.Context, sessions *store.Store, path event.Path) (*terms, error) {
	id := path[len(path)-1].SessionID
	state, err := sessions.State(ctx, path)
	if err != nil {
		return nil, err
	}
	if state.Terms == nil {
		return nil, fmt.Errorf("session %s can't be resumed: its log does not say what it was allowed, because the log is incomplete", id)
	}
	t := new(terms)
	if err := json.Unmarshal(state.Terms, t); err != nil {
		return nil, fmt.Errorf("the terms of session %s: %w", id, err)
	}
	return t, nil
}

// input returns what the call said, without its prompt.
func (t *terms) input() input.Input {
	if t.Call == nil {
		return input.Input{}
	}
	return *t.Call
}

// ruleset returns the rules of the terms of a session.
func (t *terms) ruleset(sessionID string) (*permission.Ruleset, error) {
	rules := make([]permission.Rule, 0, len(t.Rules))
	for i, r := range t.Rules {
		if len(r) < 3 {
			return nil, fmt.Errorf("rule %d of session %s can't be read", i+1, sessionID)
		}
		action, err := permission.ParseAction(r[2])
		if err != nil {
			return nil, fmt.Errorf("rule %d of session %s: %w", i+1, sessionID, err)
		}
		rules = append(rules, permission.Rule{
			Tool: r[0], Pattern: r[1], Action: action, Own: slices.Contains(r[3:], ownRule),
			Source: permission.Source{File: "the rules of session " + sessionID},
		})
	}
	return permission.NewRuleset(rules...)
}
