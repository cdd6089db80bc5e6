package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// Open begins a new session and publishes its first event. The caller ends it.
// [store.ErrResumed] is returned where another session resumes the same one.
func (m *Manager) Open(ctx context.Context, spec Spec) (*Session, error) {
	if spec.Claimed != nil {
		return m.GoOn(ctx, spec, spec.Claimed, spec.Task)
	}
	s, err := m.newSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	if spec.Resumes != nil {
		if err := m.store.Reserve(ctx, &s.record); err != nil {
			return nil, fmt.Errorf("resuming a session: %w", err)
		}
	}
	if s.record.Cleanup {
		m.cleans.Store(true)
		if err := m.store.WantCleanup(ctx, &s.record); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
	}
	if err := m.bus.Begin(s.path); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	if err := s.firstStream(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("opening a session: %w", context.Cause(ctx))
	}
	m.enlist(s)
	s.append(s.record.OpenedEntry(spec.ParentCallID, spec.Terms))
	if spec.Budget != nil {
		spec.Budget.Own(s.id, s)
	}
	s.publish(s.record.StartEvent())
	s.noteStart(audit.SessionStart)
	s.status(event.StatusQueued)
	for _, text := range s.record.Warnings {
		s.publish(event.Warning{Message: text})
	}
	if err := s.brokenBy(); err != nil {
		return nil, errors.Join(err, s.End(store.Failed, err))
	}
	return s, nil
}

// enlist adds a session to those that run here, and its record to the index.
func (m *Manager) enlist(s *Session) {
	m.mu.Lock()
	m.live[s.id] = s
	m.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index()
}

// newSession returns the session that a spec is about. Nothing is stored of it.
func (m *Manager) newSession(ctx context.Context, spec Spec) (_ *Session, err error) {
	if spec.ToolSet == nil {
		if spec.ToolSet, err = gate.NewToolSet(spec.Tools...); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
	}
	above, err := m.policy.Current()
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	allowed := spec.allowedTools()
	s := &Session{
		m:        m,
		identity: identity{parent: spec.Parent, id: cmp.Or(spec.ID, store.NewID("ses")), agent: spec.Agent, trace: spec.Traceparent},
		behavior: behavior{
			system: spec.System, model: spec.CallerModel, params: spec.Params, accept: spec.Accept, checks: spec.Checks, tools: spec.ToolSet.Only(allowed), allowed: allowed,
			maxSteps: cmp.Or(spec.MaxSteps, 10), timeLimit: spec.TimeLimit, stall: spec.Stall, stallNotice: spec.StallNotice, approver: spec.Approver, paths: m.paths,
		},
		dialogue:  dialogue{callIDs: make(map[string]bool), compaction: spec.Compaction},
		beside:    beside{news: make(chan struct{}, 1)},
		lifecycle: lifecycle{lasting: spec.Lasting, caller: ctx, background: context.WithoutCancel(ctx), done: make(chan struct{}), mover: spec.Mover, child: spec.child},
	}
	if s.approver == nil {
		s.approver = m.approver
	}
	s.record = store.Record{
		Schema:          store.Schema,
		ID:              s.id,
		ParentMessageID: spec.ParentMessageID,
		Agent:           spec.Agent,
		Description:     secrets.Mask(spec.Description),
		Label:           spec.Label,
		Metadata:        spec.Metadata,
		Status:          store.Queued,
		CreatedAt:       time.Now().UTC(),
		BootID:          m.bootID,
		Worktree:        spec.Worktree,
		Background:      spec.Background,
		Detached:        spec.Detached,
		Cleanup:         spec.Cleanup,
		Nested:          spec.Nested,
		Policy:          above.Hash(),
	}
	if spec.AskedBy != "" {
		s.record.AskedBy = []store.Person{spec.AskedBy}
	}
	if p := spec.Parent; p != nil {
		s.behavior.paths = p.behavior.paths
		s.record.ParentID = p.id
		s.trace = cmp.Or(spec.Traceparent, p.trace)
		s.path = p.path
	}
	s.record.Traceparent = s.trace
	if spec.Budget != nil {
		s.budget = spec.Budget
	} else if spec.Parent != nil {
		s.budget = spec.Parent.budget
	}
	if spec.Paths != nil {
		s.behavior.paths = *spec.Paths
	}
	if spec.Resumes != nil {
		s.record.Resumes = spec.Resumes.ID
		for _, p := range m.askedBy(ctx, spec.Resumes.Path) {
			s.record.AskedBy = store.AddPerson(s.record.AskedBy, p)
		}
	}
	s.resident = spec.ResidentFile
	s.record.Resident = s.residentName()
	s.rules.Set(spec.rulesets())
	s.path = s.path.Child(s.id, spec.Agent)
	s.record.Path, s.record.Depth = s.path, len(s.path)-1
	if spec.Agent != "" {
		if s.model, s.record.Warnings, err = m.models.Pick(spec.Agent, spec.Models, spec.callersModel()); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
		passedOver := len(s.record.Warnings) >= len(spec.Models) // all that are named
		s.record.Warnings = append(s.record.Warnings, spec.Warnings...)
		s.record.Model = s.model.Name()
		if passedOver && spec.Fork == nil && spec.Resumes == nil {
			s.router = spec.Router
		}
		switch {
		case spec.Fork != nil:
			s.goOn(spec.Fork)
		case spec.Resumes != nil:
			s.recall(spec.Resumes)
		}
	}
	return s, nil
}
