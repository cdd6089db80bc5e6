package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/store"
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
	s.publisher, s.since = t.Publisher, st.Mark
	s.todo, s.plan = st.Todo, st.Plan
	s.promptID = ""
	s.before = before{steps: t.Record.Steps, worked: st.Worked, answer: st.Answer}
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
	answer *string // the result of its turn; nil means that goes on
}

// Continue is [Session.Begin] for a session that was taken over: the turn goes on where
// it was cut off.
func (s *Session) Continue(ctx context.Context) *Turn {
	return &Turn{bond: s.life.Bind(ctx), s: s, before: &s.before}
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
	if done.answer != nil {
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
