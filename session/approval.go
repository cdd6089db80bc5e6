package session

import (
	"context"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/permission"
)

// ApprovalRequest is a tool call that waits for somebody's answer.
type ApprovalRequest struct {
	ID             string
	SessionID      string
	Agent          string
	Tool           string
	Arguments      string              // JSON, as the model wrote it
	Decision       permission.Decision // the value and the rule that ask
	Patterns       []string            // what the call wants, as rules see it
	AlwaysPatterns []string            // what "always" would allow
}

// Verdict is what somebody answers.
type Verdict uint8

// The verdicts. The zero Verdict denies.
const (
	DenyCall      Verdict = iota
	ApproveOnce           // this call
	ApproveAlways         // and whatever matches the request's AlwaysPatterns
)

// Answer is somebody's answer to an approval request.
type Answer struct {
	Verdict  Verdict
	Feedback string // with DenyCall: what the model is told
}

// Approver answers approval requests. Approve may block until ctx ends; an
// error denies the call. It is safe for concurrent use.
type Approver interface {
	Approve(ctx context.Context, req *ApprovalRequest) (Answer, error)
}

// ApproverFunc is a function as an [Approver].
type ApproverFunc func(ctx context.Context, req *ApprovalRequest) (Answer, error)

// Approve implements [Approver].
func (f ApproverFunc) Approve(ctx context.Context, req *ApprovalRequest) (Answer, error) {
	return f(ctx, req)
}

// AlwaysYes approves every request, once. It never gets to see what a rule
// denies.
var AlwaysYes Approver = ApproverFunc(func(context.Context, *ApprovalRequest) (Answer, error) {
	return Answer{Verdict: ApproveOnce}, nil
})

// ask publishes the request, waits for its answer and publishes the outcome.
// Meanwhile the session's clock stands still.
func (s *Session) ask(ctx context.Context, approver Approver, req *ApprovalRequest, toolCallID string) (Answer, error) {
	s.waitForApproval(+1)
	defer s.waitForApproval(-1)
	s.publish(eventbus.ToolApprovalRequired{
		ApprovalID:     req.ID,
		ToolCallID:     toolCallID,
		ToolName:       req.Tool,
		Arguments:      req.Arguments,
		SessionID:      req.SessionID,
		Patterns:       req.Patterns,
		AlwaysPatterns: req.AlwaysPatterns,
	})
	answer, err := approver.Approve(ctx, req)
	outcome := eventbus.Denied
	switch {
	case ctx.Err() != nil:
		outcome, answer, err = eventbus.Cancelled, Answer{}, context.Cause(ctx)
	case err == nil && answer.Verdict != DenyCall:
		outcome = eventbus.Approved
	}
	s.publish(eventbus.ToolApprovalResolved{ApprovalID: req.ID, Outcome: outcome})
	return answer, err
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
		s.status(eventbus.StatusWaitingApproval)
		s.note(s.become(WaitingApproval, nil))
	case s.waiting == 0:
		s.note(s.become(Running, nil))
		s.status(eventbus.StatusExecutingTool)
		s.resumeTime()
	}
}
