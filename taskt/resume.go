package taskt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/tool"
)

// terms are how a session was called, as its log has them: its next run is called so,
// too, and may do no more.
type terms struct {
	Rules [][]string `json:"rules"`          // the agent's, in their order: tool, pattern, action, "own" for the worker's
	Call  *Input     `json:"call,omitempty"` // nil means it says no more than what is to be done, and by whom
}

// ownRule marks one of [permission.Rule.Own].
const ownRule = "own"

// newTerms returns the JSON of the terms of a session. in nil: a plain call.
func newTerms(rules *permission.Ruleset, in *Input) json.RawMessage {
	t := terms{Rules: [][]string{}}
	for r := range rules.Rules() {
		rule := []string{r.Tool, r.Pattern, r.Action.String()}
		if r.Own {
			rule = append(rule, ownRule)
		}
		t.Rules = append(t.Rules, rule)
	}
	if in != nil {
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

// plain reports whether the call says no more than what is to be done, and by whom.
func (in Input) plain() bool {
	in.Description, in.Prompt, in.AgentType, in.Traceparent, in.Background = "", "", "", "", nil
	return reflect.ValueOf(in).IsZero()
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

// resumption is what the next run of a session is made of.
type resumption struct {
	session.Resumed
	record *store.Record // of the run before

	assignment store.Assignment // what differs from that of the call
	isolated   bool             // that worked in a worktree
	from       string           // its folder; empty means it is gone

	taken *store.Taken // that session itself goes on; nil means its next run does
	task  int          // which of its messages says what it is to do, if it was taken over
}

// begin says in a spec which session goes on.
func (r *resumption) begin(spec *session.Spec) {
	spec.Resumes = &r.Resumed
	if r.taken == nil {
		spec.ID = store.NextRun(r.record.ID)
		return
	}
	spec.ID, spec.Models = r.record.ID, []string{r.record.Model}
}

// Resume has a session that has ended go on below a caller's root session, in the
// background: as a new session, with its conversation, its agent as that is defined
// now, and the rules that held for it, which those of now can only narrow. The run
// has failed where that can't be done: the session or one above it is not stored any
// more, somebody else has resumed it, or its agent is gone.
func (s *Service) Resume(ctx context.Context, caller *session.Session, r control.Resumption) *Run {
	c, err := s.resumed(ctx, host, caller, r)
	if err != nil {
		done := make(chan struct{})
		close(done)
		result := &Result{Agent: r.Record.Agent, Status: store.Failed}
		result.Fail(ctx, err)
		return &Run{agent: r.Record.Agent, cancel: func(error) {}, opened: done, done: done, result: result}
	}
	return c.start(ctx, caller)
}

// resumeBelow returns what has sessions go on below that which makes a call.
func (s *Service) resumeBelow(by caller) func(ctx context.Context, call *tool.Call, r control.Resumption) (string, error) {
	return func(ctx context.Context, call *tool.Call, r control.Resumption) (string, error) {
		parent, ok := s.sessions.Live(call.SessionID)
		if !ok {
			return "", fmt.Errorf("session %s does not run here", call.SessionID)
		}
		c, err := s.resumed(ctx, by, parent, r)
		if err != nil {
			return "", err
		}
		c.result = &Result{Agent: c.agent, Status: store.Failed}
		err = c.beginBeside(ctx, call)
		return c.result.SessionID, cmp.Or(err, c.result.Err)
	}
}

// resumed returns the call that has a session go on below a parent.
func (s *Service) resumed(ctx context.Context, by caller, parent *session.Session, r control.Resumption) (*call, error) {
	before := r.Record
	if before.ParentID == "" {
		return nil, fmt.Errorf("session %s is no subagent's, and can't be resumed", before.ID)
	}
	t, err := s.termsOf(ctx, before.Path)
	if err != nil {
		return nil, err
	}
	in := Input{}
	if t.Call != nil {
		in = *t.Call
	}
	in.AgentType, in.Description, in.Prompt, in.Background = before.Agent, before.Description, r.Prompt, new(true)
	in.Cleanup = "" // somebody goes on with it
	next := &resumption{record: before, assignment: r.Assignment}
	next.assignment.Role = cmp.Or(r.Assignment.Role, before.Role)
	next.ID, next.Path, next.Model, next.MessageID = before.ID, before.Path, before.Model, r.MessageID
	if next.Messages, err = s.sessions.Store().Conversation(ctx, before.ID); err != nil {
		return nil, err
	}
	if err := s.within(ctx, next, t, parent); err != nil {
		return nil, err
	}
	c := s.prepare(by, in)
	c.resumes = next
	return c, nil
}

// within notes what has held for a session: its own rules, and those of the sessions
// above it that are not above its next run; and the worktree that it worked in.
func (s *Service) within(ctx context.Context, next *resumption, own *terms, parent *session.Session) error {
	path := next.record.Path
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
			if t, err = s.termsOf(ctx, at); err != nil {
				return err
			}
		}
		rules, err := t.ruleset(id)
		if err != nil {
			return err
		}
		if i == len(path) {
			next.Before = rules
		} else {
			next.Within = append(next.Within, rules)
		}
		if err := s.findWorktree(ctx, next, id); err != nil {
			return err
		}
	}
	return nil
}

// termsOf returns the terms of the session at the end of a path.
func (s *Service) termsOf(ctx context.Context, path event.Path) (*terms, error) {
	id := path[len(path)-1].SessionID
	state, err := s.sessions.Store().State(ctx, path)
	if err != nil {
		return nil, err
	}
	if state.Terms == nil {
		return nil, fmt.Errorf("session %s can't be resumed: its log does not say what it was allowed, because a worker of an earlier version has run it, or the log is gone", id)
	}
	t := new(terms)
	if err := json.Unmarshal(state.Terms, t); err != nil {
		return nil, fmt.Errorf("the terms of session %s: %w", id, err)
	}
	return t, nil
}

// findWorktree notes the worktree that was made for a session, of a run or above it.
func (s *Service) findWorktree(ctx context.Context, next *resumption, id string) error {
	if next.isolated {
		return nil
	}
	r, err := s.sessions.Store().Get(ctx, id)
	if err != nil {
		return err
	}
	if r.Worktree == nil {
		return nil
	}
	next.isolated = true
	if _, err := os.Stat(r.Worktree.Path); err == nil {
		next.from = r.Worktree.Path
	}
	return nil
}
