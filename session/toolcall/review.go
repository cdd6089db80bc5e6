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
	c.review = s.Review(ctx, s.Task, review.Call{Tool: c.Name, Arguments: c.Arguments, Rule: d.Reason(), Values: values})
	entry.Reason = c.review.Reason
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
