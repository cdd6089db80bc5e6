package session

import (
	"context"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// recheckEvery is how often a waiting call is judged again, for rules that
// another process or a person has changed.
const recheckEvery = time.Second

// byRules is the name under which the rules answer, once they allow the call.
const byRules = "the rules"

// ask stores the request as one that waits, publishes it, waits for the first
// answer, and publishes the outcome. Answers come from the session's approver,
// from [store.Store.Answer] in whatever process, and from rules that meanwhile allow
// the call, which allowed reports. Meanwhile the session's clock stands still.
// An error means that the store has failed.
func (s *Session) ask(ctx context.Context, req *ApprovalRequest, allowed func() bool) (*store.Approval, error) {
	s.waitForApproval(+1)
	defer s.waitForApproval(-1)
	now := time.Now().UTC()
	a := &store.Approval{
		ID: req.ID, SessionID: req.SessionID, Path: s.path, Agent: req.Agent,
		ToolCallID: req.ToolCallID, Tool: req.Tool, Arguments: req.Arguments,
		Patterns: req.Patterns, AlwaysPatterns: req.AlwaysPatterns, Reason: req.Reason,
		CreatedAt: now, ExpiresAt: now.Add(s.m.limits.Approval),
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
	})
	if err := s.flush(ctx); err != nil && ctx.Err() == nil { // nobody is shown what may be forgotten
		return nil, err
	}
	answered, err := s.await(ctx, req, a, allowed)
	if err != nil {
		return nil, err
	}
	if answered.Outcome == event.Cancelled && ctx.Err() == nil {
		s.look()
	}
	s.publish(event.ToolApprovalResolved{ApprovalID: a.ID, Outcome: answered.Outcome})
	return answered, nil
}

// look finds out whether another process has ended the session, as it seems to.
func (s *Session) look() {
	ctx, cancel := s.storeContext()
	defer cancel()
	if r, err := s.m.store.Taken(ctx, s.id, s.m.bootID); err == nil && r != nil {
		_ = s.lose(r) // whoever runs the session is told
	}
}

// await returns the approval with the answer that counts. It returns when all
// that it has started has ended.
func (s *Session) await(ctx context.Context, req *ApprovalRequest, a *store.Approval, allowed func() bool) (*store.Approval, error) {
	waiting, stop := context.WithCancel(ctx)
	var askers sync.WaitGroup
	defer askers.Wait()
	defer stop()

	resolve := func(outcome event.ApprovalOutcome, answer store.Answer) (answered *store.Approval, err error) {
		err = s.storing(func(ctx context.Context) (err error) {
			answered, _, err = s.m.store.Resolve(ctx, a.ID, outcome, answer)
			return err
		})
		return answered, err
	}
	// Whoever comes first stores the answer; all learn of it here.
	type outcome struct {
		answered *store.Approval
		err      error
	}
	outcomes := make(chan outcome, 2)
	askers.Go(func() {
		answered, err := s.m.store.AwaitAnswer(waiting, a.ID)
		outcomes <- outcome{answered, err}
	})
	if s.approver != nil {
		askers.Go(func() {
			answer, err := s.approver.Approve(waiting, req)
			switch {
			case waiting.Err() != nil:
				return
			case err != nil: // whoever sat there has gone
				answered, err := resolve(event.Cancelled, store.Answer{Feedback: err.Error()})
				outcomes <- outcome{answered, err}
				return
			}
			answered, err := resolve(answer.Outcome(), answer)
			outcomes <- outcome{answered, err}
		})
	}
	recheck, forget := s.m.rechecks.add()
	defer forget()
	expiry := time.NewTimer(time.Until(a.ExpiresAt))
	defer expiry.Stop()
	look := time.NewTicker(recheckEvery)
	defer look.Stop()
	for {
		select {
		case o := <-outcomes:
			if o.err != nil && ctx.Err() != nil {
				return resolve(event.Cancelled, store.Answer{})
			}
			return o.answered, o.err
		case <-ctx.Done():
			return resolve(event.Cancelled, store.Answer{})
		case <-expiry.C:
			return resolve(event.Expired, store.Answer{})
		case <-recheck:
		case <-look.C:
		}
		if allowed() {
			return resolve(event.Approved, store.Answer{Verdict: store.ApproveOnce, By: byRules})
		}
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

// rechecks tells waiting calls that the rules of this process have changed.
type rechecks struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// add returns what is sent to after a change, and what ends that.
func (r *rechecks) add() (changed <-chan struct{}, forget func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[chan struct{}]bool)
	}
	r.waiting[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, c)
	}
}

func (r *rechecks) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.waiting {
		select {
		case c <- struct{}{}:
		default: // it is yet to look at an earlier one
		}
	}
}
