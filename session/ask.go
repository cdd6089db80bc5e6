package session

import (
	"context"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// ask stores the request as one that waits, publishes it, waits for the first
// answer, and publishes the outcome. Answers come from the session's approver,
// from [store.Store.Answer] in whatever process, and from rules that meanwhile allow
// the call, which allowed reports. Meanwhile the session's clock stands still.
// An error means that the store has failed.
func (s *Session) ask(ctx context.Context, req *gate.Request, allowed func() bool) (*store.Approval, error) {
	s.waitForApproval(+1)
	defer s.waitForApproval(-1)
	now := time.Now().UTC()
	a := &store.Approval{
		ID: req.ID, SessionID: req.SessionID, Path: s.path, Agent: req.Agent,
		ToolCallID: req.ToolCallID, Tool: req.Tool, Arguments: req.Arguments,
		Patterns: req.Patterns, AlwaysPatterns: req.AlwaysPatterns, Reason: req.Reason,
		CreatedAt: now, ExpiresAt: now.Add(s.m.limits.Approval), SecondPerson: req.SecondPerson,
	}
	if err := s.storing(func(ctx context.Context) error { return s.m.store.OpenApproval(ctx, a) }); err != nil {
		return nil, err
	}
	s.publish(event.ToolApprovalRequired{
		ApprovalID:     a.ID,
		ToolCallID:     a.ToolCallID,
		ToolName:       a.Tool,
		Arguments:      a.Arguments,
		SessionID:      a.SessionID,
		Patterns:       a.Patterns,
		AlwaysPatterns: a.AlwaysPatterns,
		ExpiresAt:      a.ExpiresAt,
		SecondPerson:   a.SecondPerson != nil,
	})
	if err := s.flush(ctx); err != nil && ctx.Err() == nil { // nobody is shown what may be forgotten
		return nil, err
	}
	question := &gate.Question{Request: req, Expires: a.ExpiresAt, Approver: s.approver, Answers: answers{s, a.ID}}
	if a.SecondPerson != nil { // who is asked here has asked for the work
		question.Approver = nil
	}
	answered, err := s.m.policy.Await(ctx, question, allowed)
	if err != nil {
		return nil, err
	}
	if answered.Outcome == event.Cancelled && ctx.Err() == nil {
		s.look()
	}
	s.publish(event.ToolApprovalResolved{ApprovalID: a.ID, Outcome: answered.Outcome})
	return answered, nil
}

// answers are those to an approval of a session.
type answers struct {
	s  *Session
	id string
}

// Await implements [gate.Answers].
func (a answers) Await(ctx context.Context) (*store.Approval, error) {
	return a.s.m.store.AwaitAnswer(ctx, a.id)
}

// Resolve implements [gate.Answers].
func (a answers) Resolve(outcome event.ApprovalOutcome, answer store.Answer) (answered *store.Approval, err error) {
	err = a.s.storing(func(ctx context.Context) (err error) {
		answered, _, err = a.s.m.store.Resolve(ctx, a.id, outcome, answer)
		return err
	})
	return answered, err
}

// look finds out whether another process has ended the session, as it seems to.
func (s *Session) look() {
	ctx, cancel := s.storeContext()
	defer cancel()
	if r, err := s.m.store.Taken(ctx, s.id, s.m.bootID); err == nil && r != nil {
		_ = s.lose(r) // whoever runs the session is told
	}
}

// waitForApproval counts the calls that wait: the session waits while any
// does. It returns once the state that follows is stored.
func (s *Session) waitForApproval(delta int) {
	s.waitMu.Lock()
	defer s.waitMu.Unlock()
	before := s.waiting
	s.waiting += delta
	switch {
	case before == 0:
		s.resumeTime = s.HoldTime()
		s.status(event.StatusWaitingApproval)
		s.note(s.become(store.WaitingApproval, nil))
	case s.waiting == 0:
		s.note(s.become(store.Running, nil))
		s.status(event.StatusExecutingTool)
		s.resumeTime()
	}
}
