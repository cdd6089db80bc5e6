package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// adoption says what becomes of sessions whose process has gone.
type adoption struct {
	takesOver bool
	adopts    chan struct{} // closed once adopter is set
	adopter   store.Adopter // nil means they are ended
}

// AdoptWith begins to go on with sessions whose process has gone, by a: what can be gone
// on with now it goes on with before it returns. It is called once, of a manager with
// [Options.TakesOver], which ends no sessions of others before.
func (m *Manager) AdoptWith(ctx context.Context, a store.Adopter) {
	m.adopter = a
	close(m.adopts)
	m.sweep(ctx, m.keeper)
}

// mayRecover waits until it is known how the sessions of others are recovered. It
// reports whether those are left to another process, which goes on with sessions.
func (m *Manager) mayRecover(ctx context.Context) (left bool, err error) {
	if m.takesOver {
		select {
		case <-m.adopts:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return m.store.Leases().TakenOver(ctx)
}

// GoOn returns a session that this process has taken over. spec is as for [Manager.Open];
// what its record says counts. Of a session with an agent, spec.Resumes is its own
// conversation, whose message task is what it was asked to do. The caller runs
// [Session.Continue] and ends it, as one that it has opened.
func (m *Manager) GoOn(ctx context.Context, spec Spec, t *store.Taken, task int) (*Session, error) {
	spec.ID = t.Record.ID
	s, err := m.newSession(context.WithoutCancel(ctx), spec)
	if err != nil {
		return nil, err
	}
	if spec.Agent != "" && s.model.Name() != t.Record.Model {
		return nil, fmt.Errorf("its model can't be had: %s", strings.Join(append(s.record.Warnings, "another one is "+s.model.Name()), "; "))
	}
	st := t.State
	s.record, s.path, s.trace, s.task = t.Record, t.Record.Path, t.Record.Traceparent, task
	s.publisher = t.Publisher
	s.todo, s.plan = st.Todo, st.Plan
	s.promptID = ""
	s.before = before{steps: t.Record.Steps, worked: st.Worked, answer: st.Answer, step: st.Step()}
	if !spec.WholeTime {
		s.before.worked -= st.WorkedBefore
	}
	for _, id := range st.Told() {
		s.beside.know(id)
	}
	if p := t.Record.Pause; p != nil && s.model != nil {
		m.models.Pause(s.model, models.Pause{Until: p.Until, Why: p.Reason})
	}
	m.enlist(s)
	s.noteStart(audit.SessionResumed)
	if spec.Budget != nil {
		spec.Budget.Own(s.id, s)
	}
	return s, nil
}

// before is what a session has done before it was taken over.
type before struct {
	steps  int
	worked time.Duration
	answer *string     // the result of its turn; nil means that goes on
	step   *store.Step // in which it was cut off; nil means in none

	calls map[string]*rejoined // of that step, by their ids: those that are not made anew
}

// Continue is [Session.Begin] for a session that was taken over: the turn goes on where
// it was cut off.
func (s *Session) Continue(ctx context.Context) *Turn {
	return &Turn{bond: s.life.Bind(ctx), s: s, before: &s.before}
}

// ContinueBelow is [Session.BeginBelow] for a session that was taken over.
func (s *Session) ContinueBelow(ctx context.Context) *Turn {
	return s.Continue(s.background).endWith(ctx)
}

// Rejoin has a call of the step in which a session was cut off that was taken over go on
// where it was: run does the rest of it. It is not judged again. Others of the step that
// have no outcome are made anew, if their tool delegates, or have an error as their
// outcome. Rejoin is called before the session goes on.
func (s *Session) Rejoin(callID string, run func(ctx context.Context, call *tool.Call) (tool.Result, error)) {
	if s.before.calls == nil {
		s.before.calls = make(map[string]*rejoined)
	}
	s.before.calls[callID] = &rejoined{run}
}

// rejoined is the tool of a call that goes on where it was.
type rejoined struct {
	run func(ctx context.Context, call *tool.Call) (tool.Result, error)
}

// Spec implements [tool.Tool].
func (*rejoined) Spec() tool.Spec {
	return tool.Spec{ReadOnly: true, Delegates: true, OwnTimeLimit: true}
}

// Values implements [tool.Tool].
func (*rejoined) Values(json.RawMessage) ([]permission.Value, error) { return nil, nil }

// Run implements [tool.Tool].
func (r *rejoined) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	return r.run(ctx, call)
}

// finishStep does what is left of the step in which the session was cut off.
func (t *Turn) finishStep() error {
	s := t.s
	ctx, end := s.boundStep(t.Context())
	defer end()
	s.status(event.StatusExecutingTool)
	s.offered() // what a fork of the conversation begins with
	return t.act(ctx, s.cutOff(t.before.step), t.before.step.MessageID, t.before.steps)
}

// cutOff returns the calls of a step that was cut off, as far as they have come.
func (s *Session) cutOff(step *store.Step) []*invocation {
	all := make([]*invocation, len(step.Calls))
	for i, c := range step.Calls {
		inv := &invocation{ToolCall: c, session: s, messageID: step.MessageID, start: time.Now(), tool: s.tools.Get(c.Name)}
		all[i] = inv
		result, rest := step.Results[i], s.before.calls[c.ID]
		switch {
		case result.ToolCallID != "":
			inv.res, inv.returned = CallResult{Result: tool.Result{Text: result.Text, IsError: result.IsError}}, true
		case rest != nil:
			args := json.RawMessage(c.Arguments)
			inv.tool = rest
			inv.prepared, _ = tool.Prepare(rest, args) // it reads nothing
			inv.call = &tool.Call{ID: c.ID, SessionID: s.id, Agent: s.Agent(), Began: s.Record().CreatedAt, MessageID: step.MessageID, Args: args, Caller: inv}
		case inv.tool == nil || !inv.tool.Spec().Delegates:
			inv.end(CallResult{Result: tool.Errorf("%s", store.Repeat)})
		}
	}
	return all
}

// done is what was done of the turn before it came to this process.
func (t *Turn) done() before {
	if t.before == nil {
		return before{}
	}
	return *t.before
}

// goOn does what comes before the first model call of a turn that goes on.
func (t *Turn) goOn() error {
	s, done := t.s, t.done()
	if done.answer != nil || done.step != nil {
		return nil
	}
	if done.steps >= s.maxSteps {
		s.tell(concludeNow)
	}
	s.status(event.StatusStreaming)
	t.next = store.NewID("msg")
	return nil
}

// StandIn stands for the parent of a session that was taken over, which has ended: what
// was allowed there (Within of a spec), and its budget, hold below it. It does not run.
func (m *Manager) StandIn(r *store.Record, spec Spec) *Session {
	s := &Session{m: m, identity: identity{id: r.ID, agent: r.Agent, path: r.Path, trace: r.Traceparent}}
	s.rules.Set(spec.Within, 0)
	s.budget, s.record, s.behavior.paths = spec.Budget, *r, m.paths
	s.caller, s.background, s.done = context.Background(), context.Background(), make(chan struct{})
	s.ending, s.beside.over, s.beside.closing = true, true, true
	return s
}
