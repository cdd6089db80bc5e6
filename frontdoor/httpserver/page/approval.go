package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/store"
)

// Decision is what a person answers.
type Decision struct {
	ApprovalID string   `json:"approvalId"`
	Answer     string   `json:"answer"`   // once, always or deny; answer to a question of an agent
	Answers    []string `json:"answers"`  // with answer: the chosen options, or one text
	Feedback   string   `json:"feedback"` // with deny: what the model is told
}

// by is who answers, and does all else, for people.
const by = "the page"

// approvals takes the answers to calls that wait.
type approvals struct {
	answers
	sessions *store.Store
}

// decide answers a call that waits.
func (a *approvals) decide(w http.ResponseWriter, r *http.Request) {
	var in Decision
	err := read(w, r, &in)
	var answer approval.Answer
	if err == nil {
		answer, err = a.answerOf(r.Context(), in)
	}
	if err != nil {
		a.fail(w, err)
		return
	}
	asked, err := a.sessions.Approvals.Answer(r.Context(), in.ApprovalID, answer)
	if late := (*approval.AnsweredError)(nil); errors.As(err, &late) {
		err = &caller.Error{Status: http.StatusConflict, Code: "answered", Message: err.Error()}
	}
	a.answer(w, asked, err)
}

// answerOf returns what a decision means. "Always" takes the owner, and a call whose card
// offers it.
func (a *approvals) answerOf(ctx context.Context, in Decision) (approval.Answer, error) {
	identity := caller.IdentityOf(ctx)
	answer := approval.Answer{Feedback: in.Feedback, By: identity.By(by), As: identity.Person()}
	switch in.Answer {
	case "once":
		answer.Verdict = approval.ApproveOnce
	case "always":
		answer.Verdict = approval.ApproveAlways
		if err := identity.Require(caller.Owner); err != nil {
			return answer, err
		}
		asked, err := a.sessions.Approvals.Get(ctx, in.ApprovalID)
		if err == nil && len(newCard(asked).Always) == 0 {
			err = caller.BadRequest(approval.ErrNoAlways)
		}
		return answer, err
	case "deny":
		answer.Verdict = approval.DenyCall
	case "answer":
		answer.Verdict, answer.Answers = approval.AnswerAsk, in.Answers
	default:
		return answer, caller.BadRequest(errors.New(`answer is "once", "always", "deny" or "answer"`))
	}
	return answer, nil
}
