package caller

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Answer is the body of a request to answer an approval. It approves or denies this one
// call: nobody changes rules through a front door. A question of an agent has answers instead;
// it is declined by approve false.
type Answer struct {
	ApprovalID string   `json:"approvalId"`
	Approve    *bool    `json:"approve"`
	Answers    []string `json:"answers"`  // the chosen options, or one text
	Feedback   string   `json:"feedback"` // of a denial, for the model
}

// read returns what the body says.
func (in *Answer) read(by By) (approval.Answer, error) {
	answer := approval.Answer{Verdict: approval.DenyCall, Feedback: in.Feedback, By: by.Text, As: by.Person}
	switch {
	case in.ApprovalID == "" || in.Approve == nil && in.Answers == nil:
		return answer, errors.New("approvalId, and approve or answers, are required")
	case in.Approve != nil && in.Answers != nil:
		return answer, errors.New("approve and answers exclude each other: answers are for a question of an agent")
	case in.Answers != nil:
		answer.Verdict, answer.Answers = approval.AnswerAsk, in.Answers
	case *in.Approve:
		answer.Verdict = approval.ApproveOnce
	}
	return answer, nil
}

// PendingApprovals is the answer to a request for the tool calls that wait.
type PendingApprovals struct {
	Approvals []*approval.Approval `json:"approvals"` // the oldest first
}

// Approvals returns the tool calls that wait for an answer.
func Approvals(ctx context.Context, sessions *store.Store) (PendingApprovals, error) {
	pending, err := sessions.Approvals.Pending(ctx)
	return PendingApprovals{append([]*approval.Approval{}, pending...)}, err
}

// AnswerApproval answers a tool call as body, an [Answer], says, and returns it
// as answered. by says who does it. What can't be done is an [*Error].
func AnswerApproval(ctx context.Context, sessions *store.Store, body []byte, by By) (*approval.Approval, error) {
	var in Answer
	if err := Decode(body, &in); err != nil {
		return nil, BadRequest(fmt.Errorf("reading the answer: %w", err))
	}
	answer, err := in.read(by)
	if err != nil {
		return nil, BadRequest(err)
	}
	asked, err := sessions.Approvals.Answer(ctx, in.ApprovalID, answer)
	var late *approval.AnsweredError
	switch {
	case errors.As(err, &late):
		return nil, &Error{Status: http.StatusConflict, Code: "answered", Message: err.Error()}
	case errors.Is(err, record.ErrAmbiguous):
		return nil, BadRequest(err)
	}
	return asked, err
}
