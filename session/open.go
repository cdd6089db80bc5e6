package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/review"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/session/toolset"
)

// Open begins a new session and publishes its first event; with [Spec.Claimed] it resumes one.
// The caller ends it. [record.ErrResumed] is returned if another session resumes the same one.
func (m *Manager) Open(ctx context.Context, spec Spec) (*Session, error) {
	if spec.Claimed != nil {
		return m.openClaimed(context.WithoutCancel(ctx), &spec)
	}
	s, err := m.newSession(ctx, &spec)
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	rec := s.Record()
	if spec.Resumes != nil {
		if err := m.p.Store.Index.Reserve(ctx, &rec); err != nil {
			return nil, fmt.Errorf("resuming a session: %w", err)
		}
	}
	if rec.Cleanup {
		m.cleans.Store(true)
		if err := m.p.Store.Retention.WantCleanup(ctx, &rec); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
	}
	if err := m.p.Bus.Begin(s.path); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	if err := s.log.Begin(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("opening a session: %w", context.Cause(ctx))
	}
	m.enlist(s)
	s.log.Append(log.OpenedEntry(&rec, spec.ParentCallID, spec.Terms))
	if spec.Budget != nil {
		spec.Budget.Own(s.id, budgetOwner{s.log})
	}
	s.log.Publish(rec.StartEvent())
	s.calls.Audit.Start(audit.SessionStart)
	s.log.Status(event.StatusQueued)
	for _, text := range rec.Warnings {
		s.log.Publish(event.Warning{Message: text})
	}
	if err := s.log.Err(); err != nil {
		return nil, errors.Join(err, s.End(record.Failed, err))
	}
	if s.caller {
		toolcall.HooksOf(s.calls).StartCaller()
	}
	return s, nil
}

// openClaimed resumes a session that this process has claimed.
func (m *Manager) openClaimed(ctx context.Context, spec *Spec) (*Session, error) {
	t := spec.Claimed
	r, st := &t.Record, t.State
	s, err := m.newSession(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	if !s.caller && s.agent.model.Name() != r.Model {
		return nil, fmt.Errorf("its model can't be had: %s", strings.Join(append(spec.Warnings, "another one is "+s.agent.model.Name()), "; "))
	}
	if s.usage.below, err = m.p.Store.Index.Below(ctx, r.Path); err != nil {
		return nil, err
	}
	s.log.Continue(t.Publisher)
	s.hidden.Restore(st.Hidden)
	s.notes.SetTodo(st.Todo)
	s.notes.SetPlan(st.Plan)
	s.before = before{steps: r.Steps, worked: st.Worked, answer: st.Answer, step: st.Step()}
	if !spec.WholeTime {
		s.before.worked -= st.WorkedBefore
	}
	s.inbox.Know(st.Delivered(), nil)
	if p := r.Pause; p != nil && !s.caller {
		m.p.models.Pause(s.agent.model, models.Pause{Until: p.Until, Why: p.Reason})
	}
	m.enlist(s)
	commander{s}.lost(st.Commands)
	s.calls.Audit.Start(audit.SessionResumed)
	if spec.Budget != nil {
		spec.Budget.Own(s.id, budgetOwner{s.log})
	}
	return s, nil
}

// commandsPerTakeover is how far the numbers of a session's commands rise with each takeover: those
// from before are gone, and must not be taken for new ones.
const commandsPerTakeover = 1000

// newSession returns the session of a spec. Nothing of it is stored. It adds to the spec's
// warnings. Each part is made of those before it.
func (m *Manager) newSession(ctx context.Context, spec *Spec) (*Session, error) {
	tools, err := spec.toolSet()
	if err != nil {
		return nil, err
	}
	policy, err := m.p.calls.Policy.Current()
	if err != nil {
		return nil, err
	}
	picked, err := m.pick(spec)
	if err != nil {
		return nil, err
	}
	above := m.inherited(spec.Parent)
	if spec.Paths != nil {
		above.paths = *spec.Paths
	}
	rec := m.recordOf(ctx, spec)
	if spec.Claimed == nil {
		rec.Policy, rec.Resident = policy.Hash(), residentName(spec.ResidentFile, above.paths, m.p.paths)
		if spec.Agent != "" {
			rec.Model = picked.model.Name()
		}
	}
	life := lifetime.NewLife(above.life, ctx)
	log := journal.New(&m.p.Process, above.log, life, rec)
	hides, err := m.hidesOf(ctx, spec, log)
	if err != nil {
		return nil, err
	}
	s := &Session{
		p: m.p, parent: spec.Parent, id: rec.ID, path: rec.Path, caller: spec.Agent == "",
		life: life, log: log, talk: conversation.New(), inbox: inbox.New(), hidden: hides, first: firstPrompt{router: picked.router},
		agent: agent{
			system: spec.System, model: picked.model, rest: picked.rest, params: spec.Params, accept: spec.Accept, checks: spec.Checks, about: spec.About,
			maxSteps: cmp.Or(spec.MaxSteps, 10), timeLimit: spec.TimeLimit,
		},
		compaction: spec.Compaction, stall: stallLimits{limit: spec.Stall, notice: spec.StallNotice},
		lasting: spec.Lasting, allowed: spec.allowedTools(), resident: spec.ResidentFile, move: spec.move, done: make(chan struct{}),
	}
	s.calls = m.newCalls(s, spec, tools, above)
	s.usage = usage{budget: cmp.Or(spec.Budget, above.budget), totals: &m.p.totals, log: log, life: life, ask: s.calls.AskBudget}
	switch {
	case s.caller:
	case spec.Fork != nil:
		spec.Fork.begin(s)
	case spec.Resumes != nil:
		spec.Resumes.begin(s, spec.Task)
	}
	return s, nil
}

// inherited is what a session has of its parent, or of its process.
type inherited struct {
	life   *lifetime.Life
	log    *journal.Journal
	paths  permission.Workspace
	budget Budget
	hooks  []*hookconfig.Hook
	task   *review.Task
}

// inherited returns what a session has of a parent; nil means that it is a root.
func (m *Manager) inherited(parent *Session) inherited {
	if parent == nil {
		return inherited{paths: m.p.paths, task: new(review.Task)}
	}
	hooks := append(slices.Clip(parent.calls.HooksAbove), parent.calls.AgentHooks...)
	task := parent.calls.Task
	if parent.caller { // each task of a caller is one of its own
		task = new(review.Task)
	}
	return inherited{parent.life, parent.log, parent.calls.Paths, parent.usage.budget, hooks, task}
}

// newCalls returns the tool calls of a session, with the commands that go on in its background.
func (m *Manager) newCalls(s *Session, spec *Spec, tools *toolset.Set, above inherited) *toolcall.Calls {
	c := toolcall.New(&m.p.calls, s.log, s.life, spec.Approver)
	c.Tools, c.Paths = tools.Only(s.allowed), above.paths
	c.Rules.Set(spec.rulesets())
	c.AgentHooks, c.HooksAbove = spec.Hooks, above.hooks
	if c.Task = above.task; m.p.reviewer != nil && !s.caller {
		c.Review = reviewerOf(s)
	}
	if s.hidden != nil {
		c.PutBack = s.hidden.PutBack
	}
	s.commands = m.p.commands.Open(commander{s}, commandsPerTakeover*s.Record().Takeovers)
	c.Background = s.commands
	return c
}

// hidesOf returns how the model of a session reads credentials, with what the session before it
// has sent.
func (m *Manager) hidesOf(ctx context.Context, spec *Spec, log *journal.Journal) (*hidden.View, error) {
	hides, err := m.hides(spec.Parent, log)
	if err != nil || hides == nil || spec.Resumes == nil || spec.Resumes.ID == "" {
		return hides, err
	}
	before, err := m.p.Store.Transcripts.Hidden(ctx, spec.Resumes.ID)
	hides.Restore(before)
	return hides, err
}

// hides returns how the model of a session below parent reads credentials. The journal is told of
// placeholders. A nil parent or journal means none.
func (m *Manager) hides(parent *Session, to *journal.Journal) (*hidden.View, error) {
	policy, err := m.p.calls.Policy.Current()
	if err != nil || !m.p.masks && policy.MasksForModel().File == "" {
		return nil, err
	}
	var above *hidden.View
	if parent != nil {
		above = parent.hidden
	}
	return hidden.New(above, func(all []hidden.Placeholder) {
		if to != nil {
			to.Append(log.HiddenEntry(all))
		}
	}), nil
}

// picked is the model of a session.
type picked struct {
	model  model.Model
	rest   []string // names of models that answer once it has failed
	router Router   // picks another one; nil means the model stays
}

// pick returns the model of a session. Warnings of the spec say which ones were passed over.
func (m *Manager) pick(spec *Spec) (p picked, err error) {
	if spec.Agent == "" {
		return picked{model: spec.CallerModel}, nil
	}
	var warnings []string
	if p.model, p.rest, warnings, err = m.p.models.Pick(spec.Agent, spec.Models, spec.callersModel()); err != nil {
		return p, err
	}
	if len(warnings) >= len(spec.Models) && spec.Fork == nil && spec.Resumes == nil { // no model that is named counts
		p.router = spec.Router
	}
	spec.Warnings = append(warnings, spec.Warnings...)
	if untrusted := m.p.calls.Hooks.Untrusted(); untrusted != "" && spec.Claimed == nil && (spec.Parent == nil || spec.Parent.caller) {
		spec.Warnings = append(spec.Warnings, untrusted)
	}
	return p, nil
}

// recordOf returns the record of a session: that of a claimed one, or a new one as far as the
// spec says it.
func (m *Manager) recordOf(ctx context.Context, spec *Spec) record.Record {
	if spec.Claimed != nil {
		return spec.Claimed.Record
	}
	r := record.Record{
		Schema:          record.Schema,
		ID:              cmp.Or(spec.ID, record.NewID("ses")),
		ParentMessageID: spec.ParentMessageID,
		Agent:           spec.Agent,
		Description:     secrets.Mask(spec.Description),
		Label:           spec.Label,
		Metadata:        spec.Metadata,
		Traceparent:     spec.Traceparent,
		Status:          record.Queued,
		CreatedAt:       time.Now().UTC(),
		BootID:          m.p.BootID,
		Worktree:        spec.Worktree,
		Background:      spec.Background,
		Detached:        spec.Detached,
		Cleanup:         spec.Cleanup,
		Nested:          spec.Nested,
	}
	if spec.AskedBy != "" {
		r.AskedBy = []record.Person{spec.AskedBy}
	}
	if p := spec.Parent; p != nil {
		r.ParentID, r.Path = p.id, p.path
		r.Traceparent = cmp.Or(spec.Traceparent, p.Record().Traceparent)
	}
	r.Path = r.Path.Child(r.ID, spec.Agent)
	r.Depth = len(r.Path) - 1
	if spec.Agent != "" {
		r.Warnings = spec.Warnings
		if spec.Fork != nil {
			r.Fork = spec.Fork.Turns
		}
	}
	if spec.Resumes != nil {
		r.Resumes, r.FromStep = spec.Resumes.ID, spec.Resumes.FromStep
		for _, p := range m.p.calls.AskedBy(ctx, spec.Resumes.Path) {
			r.AskedBy = record.AddPerson(r.AskedBy, p)
		}
	}
	return r
}

// StandIn returns a parent for a claimed session whose own parent has ended. The rules
// ([Spec.Within]) and the budget of that one hold for the session. The stand-in does not run.
func (m *Manager) StandIn(r *record.Record, spec Spec) *Session {
	life := lifetime.NewLife(nil, context.Background())
	s := &Session{
		p: m.p, id: r.ID, path: r.Path, caller: r.Agent == "", life: life, log: journal.New(&m.p.Process, nil, life, *r),
		talk: conversation.New(), inbox: inbox.Shut(), done: make(chan struct{}),
	}
	s.log.Close()
	s.calls = toolcall.New(&m.p.calls, s.log, life, nil)
	s.calls.Paths = m.p.paths
	s.calls.Rules.Set(spec.Within, 0)
	s.calls.HooksAbove = spec.Hooks
	s.usage.budget = spec.Budget
	return s
}

// begin begins a new session's conversation with the fork.
func (f *Fork) begin(s *Session) {
	s.agent.system = f.System
	s.talk.Resume(slices.Clip(f.Messages), 0, f.Tools, f.from.Name() != s.agent.model.Name())
}

// begin gives a session the conversation that it resumes, with the index of its task.
func (r *Resumed) begin(s *Session, task int) {
	if s.first.id = r.MessageID; s.first.id != "" {
		s.inbox.Know([]string{s.first.id}, nil)
	}
	messages := make([]model.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = m.Message
	}
	s.talk.Resume(messages, task, nil, r.Model != s.agent.model.Name())
}
