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
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/toolcall"
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
// warnings.
func (m *Manager) newSession(ctx context.Context, spec *Spec) (*Session, error) {
	tools, err := spec.ToolSet, error(nil)
	if tools == nil {
		if tools, err = gate.NewToolSet(spec.Tools...); err != nil {
			return nil, err
		}
	}
	p := m.p
	policy, err := p.calls.Policy.Current()
	if err != nil {
		return nil, err
	}
	s := &Session{
		p: p, parent: spec.Parent, caller: spec.Agent == "", talk: conversation.New(), inbox: inbox.New(), done: make(chan struct{}),
		agent: agent{
			system: spec.System, model: spec.CallerModel, params: spec.Params, accept: spec.Accept, checks: spec.Checks, about: spec.About,
			maxSteps: cmp.Or(spec.MaxSteps, 10), timeLimit: spec.TimeLimit,
		},
		compaction: spec.Compaction, stall: stallLimits{limit: spec.Stall, notice: spec.StallNotice},
		lasting: spec.Lasting, allowed: spec.allowedTools(), resident: spec.ResidentFile, move: spec.move,
	}
	paths, budget := p.paths, spec.Budget
	var life *lifetime.Life
	var log *journal.Journal
	if above := spec.Parent; above != nil {
		life, log, paths = above.life, above.log, above.calls.Paths
		if budget == nil {
			budget = above.usage.budget
		}
	}
	if spec.Paths != nil {
		paths = *spec.Paths
	}
	if !s.caller {
		if err := m.pickModel(s, spec); err != nil {
			return nil, err
		}
	}
	var record record.Record
	if spec.Claimed != nil {
		record = spec.Claimed.Record
	} else {
		record = m.newRecord(ctx, spec)
		record.Policy, record.Resident = policy.Hash(), residentName(spec.ResidentFile, paths, p.paths)
		if !s.caller {
			record.Model = s.agent.model.Name()
		}
	}
	s.id, s.path = record.ID, record.Path
	s.life = lifetime.NewLife(life, ctx)
	s.log = journal.New(&p.Process, log, s.life, record)
	s.calls = toolcall.New(&p.calls, s.log, s.life, spec.Approver)
	s.calls.Tools, s.calls.Paths = tools.Only(s.allowed), paths
	s.calls.Rules.Set(spec.rulesets())
	s.calls.AgentHooks = spec.Hooks
	if above := spec.Parent; above != nil {
		s.calls.HooksAbove = append(slices.Clip(above.calls.HooksAbove), above.calls.AgentHooks...)
	}
	s.commands = p.commands.Open(commander{s}, commandsPerTakeover*record.Takeovers)
	s.calls.Background = s.commands
	if err = m.hide(ctx, s, spec.Resumes); err != nil {
		return nil, err
	}
	s.usage = usage{budget: budget, totals: &p.totals, log: s.log, life: s.life, ask: s.calls.AskBudget}
	switch {
	case s.caller:
	case spec.Fork != nil:
		spec.Fork.begin(s)
	case spec.Resumes != nil:
		spec.Resumes.begin(s, spec.Task)
	}
	return s, nil
}

// hide gives a session its view of credentials, with what the session before it has sent.
func (m *Manager) hide(ctx context.Context, s *Session, resumes *Resumed) (err error) {
	if s.hidden, err = m.hides(s.parent, s.log); err != nil || s.hidden == nil {
		return err
	}
	s.calls.PutBack = s.hidden.PutBack
	if resumes == nil || resumes.ID == "" {
		return nil
	}
	before, err := m.p.Store.Transcripts.Hidden(ctx, resumes.ID)
	s.hidden.Restore(before)
	return err
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

// pickModel gives the session its model, or a router that picks it. Warnings say which models
// were passed over.
func (m *Manager) pickModel(s *Session, spec *Spec) (err error) {
	var warnings []string
	if s.agent.model, s.agent.rest, warnings, err = m.p.models.Pick(spec.Agent, spec.Models, spec.callersModel()); err != nil {
		return err
	}
	if len(warnings) >= len(spec.Models) && spec.Fork == nil && spec.Resumes == nil { // no model that is named counts
		s.first.router = spec.Router
	}
	spec.Warnings = append(warnings, spec.Warnings...)
	return nil
}

// newRecord returns the record of a new session, as far as the spec says it.
func (m *Manager) newRecord(ctx context.Context, spec *Spec) record.Record {
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
		r.Resumes = spec.Resumes.ID
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
