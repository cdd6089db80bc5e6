package session

import (
	"context"
)

// ApprovalRequest is a tool call that waits for somebody's answer.
type ApprovalRequest struct {
	ID             string
	SessionID      string
	ToolCallID     string
	Agent          string
	Tool           string
	Arguments      string   // JSON, as the model wrote it
	Reason         string   // why somebody is asked, in a sentence
	Patterns       []string // what the call wants, as rules see it
	AlwaysPatterns []string // what "always" would allow
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
	By       string // who answers, for people
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

// AlwaysYes approves every request, once. Calls that a rule denies never reach
// it.
var AlwaysYes Approver = ApproverFunc(func(context.Context, *ApprovalRequest) (Answer, error) {
	return Answer{Verdict: ApproveOnce, By: "the caller"}, nil
})
