package taskt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/workdir"
)

// terms are how a session was called, as its log has them. A session that resumes it is called
// the same way, and may do no more.
type terms struct {
	Rules [][]string   `json:"rules"`          // the agent's, in their order: tool, pattern, action, "own" for the worker's
	Call  *input.Input `json:"call,omitempty"` // nil means it is plain

	Files workdir.Files `json:"files"` // where it works
}

// ownRule marks one of [permission.Rule.Own].
const ownRule = "own"

// newTerms returns the JSON of the terms of a session. in nil means a plain call.
func newTerms(rules *permission.Ruleset, in *input.Input, files workdir.Files) json.RawMessage {
	t := terms{Rules: [][]string{}, Files: files}
	for r := range rules.Rules() {
		rule := []string{r.Tool, r.Pattern, r.Action.String()}
		if r.Own {
			rule = append(rule, ownRule)
		}
		t.Rules = append(t.Rules, rule)
	}
	if in != nil && !in.Plain() {
		call := *in
		call.Prompt, call.Attachments = "", nil // the conversation begins with them
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
	state, err := sessions.Index.State(ctx, path)
	if err != nil {
		return nil, err
	}
	if state.Terms == nil {
		return nil, fmt.Errorf("session %s can't be resumed: its log does not say what it was allowed, because the log is missing or incomplete", id)
	}
	return parseTerms(id, state.Terms)
}

// parseTerms reads the JSON of the terms of a session.
func parseTerms(id string, data json.RawMessage) (*terms, error) {
	t := new(terms)
	if err := json.Unmarshal(data, t); err != nil {
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

// resumption is what a session is made of that resumes another one, or was claimed.
type resumption struct {
	session.Resumed
	record *record.Record // of the other one; of the session itself if it was claimed

	assignment requests.Assignment             // what differs from that of the call
	opened     func(ctx context.Context) error // runs before the first step; nil means nothing does
	isolated   bool                            // it worked in a worktree
	worktree   string                          // its folder; empty means it is removed

	claimed *recovery.Claimed // nil means it was not
	task    int               // of a claimed one: which of its messages says what it is to do
}

// begin names in the spec what the session goes on from.
func (r *resumption) begin(spec *session.Spec) {
	spec.Resumes = &r.Resumed
	if r.claimed != nil {
		spec.Models, spec.Claimed, spec.Task = []string{r.record.Model}, r.claimed, r.task
	}
}

// readAbove notes the rules that held for the session: its own, and those of the sessions above
// it that are not above its parent now. And it notes the worktree in which it worked.
func (r *resumption) readAbove(ctx context.Context, sessions *store.Store, own *terms, parent *session.Session) error {
	path := r.record.Path
	for i := len(path); i > 0; i-- {
		at := path[:i]
		id := at[i-1].SessionID
		if slices.ContainsFunc(parent.Path(), func(h event.Hop) bool { return h.SessionID == id }) {
			break
		}
		if at[i-1].AgentType == "" {
			continue
		}
		t := own
		if i < len(path) {
			var err error
			if t, err = readTerms(ctx, sessions, at); err != nil {
				return err
			}
		}
		rules, err := t.ruleset(id)
		if err != nil {
			return err
		}
		if i == len(path) {
			r.Before = rules
		} else {
			r.Within = append(r.Within, rules)
		}
		if err := r.readWorktree(ctx, sessions, id); err != nil {
			return err
		}
	}
	return nil
}

// readWorktree notes the worktree that was made for a session, unless one is noted.
func (r *resumption) readWorktree(ctx context.Context, sessions *store.Store, id string) error {
	if r.isolated {
		return nil
	}
	record, err := sessions.Index.Get(ctx, id)
	if err != nil || record.Worktree == nil {
		return err
	}
	r.isolated = true
	if _, err := os.Stat(record.Worktree.Path); err == nil {
		r.worktree = record.Worktree.Path
	}
	return nil
}
