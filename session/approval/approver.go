package approval

import (
	"context"
)

// Approver answers approval requests. Approve may block until ctx ends; an error denies the
// call. It is safe for concurrent use.
type Approver interface {
	Approve(ctx context.Context, a *Approval) (Answer, error)
}

// ApproverFunc is a function as an [Approver].
type ApproverFunc func(ctx context.Context, a *Approval) (Answer, error)

// Approve implements [Approver].
func (f ApproverFunc) Approve(ctx context.Context, a *Approval) (Answer, error) {
	return f(ctx, a)
}

// Recorded is a function as an [Approver] that replays the answers of an earlier run. Nobody
// sits there.
type Recorded func(ctx context.Context, a *Approval) (Answer, error)

// Approve implements [Approver].
func (f Recorded) Approve(ctx context.Context, a *Approval) (Answer, error) {
	return f(ctx, a)
}

// AlwaysYes approves every request, once. Calls that a rule denies never reach it.
var AlwaysYes Approver = alwaysYes{}

type alwaysYes struct{}

// Approve implements [Approver].
func (alwaysYes) Approve(context.Context, *Approval) (Answer, error) {
	return Answer{Verdict: ApproveOnce, By: "the caller"}, nil
}

// Sits reports whether an approver asks a person who sits there.
func Sits(a Approver) bool {
	_, recorded := a.(Recorded)
	return Asks(a) && !recorded
}

// Asks reports whether an approver asks somebody. nil means there is none.
func Asks(a Approver) bool { return a != nil && a != AlwaysYes }
