package toolcall

import (
	"context"
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/review"
)

// reviewed are the calls of a session as a reviewer has them.
type reviewed struct{ *Calls }

// decide has the reviewer judge a call that rules ask about. over is the verdict if
// nobody else is asked; otherwise left says why, if it was asked. A question for a person alone, of a hook
// or for a second person is not the reviewer's.
func (s reviewed) decide(ctx context.Context, c *Call, values []permission.Value, d permission.Decision, second *approval.SecondPerson, entry audit.Record) (over *verdict, left string) {
	if s.Review == nil || c.tool == nil || second != nil || d.Personal || c.hooks.Ask != nil {
		return nil, ""
	}
	s.describe(c, values)
	c.review = s.Review(ctx, s.Task, review.Call{Tool: c.Name, Arguments: c.Arguments, Rule: d.Reason(), Values: values})
	entry.Reason = c.review.Reason
	if c.review.Decision == review.Allow && !s.asJudged(c, values, d) {
		s.Audit.note(entry.Answered(audit.LeftToPerson, c.review.By))
		return nil, fmt.Sprintf(" What it would do, or a rule about it, has changed while the %s judged it.", c.review.By)
	}
	switch c.review.Decision {
	case review.Allow:
		v := s.Audit.stored(ctx, c, entry.Answered(event.Approved, c.review.By), verdict{allowed: true})
		if v.allowed {
			v = s.decideAgain(ctx, c, values, &approval.Approval{}, v)
		}
		return &v, ""
	case review.Deny:
		s.Audit.note(entry.Answered(event.Denied, c.review.By))
		return &verdict{refusal: refuse("The %s denied %s: %s.", c.review.By, c.Name, c.review.Reason)}, ""
	}
	s.Audit.note(entry.Answered(audit.LeftToPerson, c.review.By))
	return nil, fmt.Sprintf(" The %s leaves it to a person: %s.", c.review.By, c.review.Reason)
}

// asJudged reports whether a call is what it was when it was described, and rules still ask about it
// for the same reason, or decide without a question.
func (s reviewed) asJudged(c *Call, values []permission.Value, d permission.Decision) bool {
	rules, err := s.layers(c.tool)
	if err == nil && c.Prepared != nil {
		values, err = c.Prepared.Values()
	}
	if err != nil || s.changed(c) {
		return false
	}
	now := rules.Decide(values)
	return now.Action == permission.Allow || now.Action == permission.Deny || now.Layer == d.Layer && !now.Personal
}
