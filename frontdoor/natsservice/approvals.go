package natsservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session"
)

// approvalTimeout bounds the reading and the answering of approvals.
const approvalTimeout = 10 * time.Second

// Answer is the body of a request to answer an approval. Over NATS nobody
// changes rules: a call is approved or denied, this one alone.
type Answer struct {
	ApprovalID string `json:"approvalId"`
	Approve    *bool  `json:"approve"`
	Feedback   string `json:"feedback"` // of a denial, for the model
}

// approvals answers with the tool calls that wait.
func (s *Service) approvals(from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), approvalTimeout)
	defer cancel()
	pending, err := s.sessions.Approvals(ctx)
	if err != nil {
		s.refuse(req, err)
		return
	}
	s.send(req, nil, struct {
		Approvals []*session.Approval `json:"approvals"`
	}{append([]*session.Approval{}, pending...)})
}

// resolve answers an approval for the caller.
func (s *Service) resolve(from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), approvalTimeout)
	defer cancel()
	approval, err := s.answerApproval(ctx, req.data)
	if err != nil {
		s.refuse(req, err)
		return
	}
	s.send(req, nil, approval)
}

func (s *Service) answerApproval(ctx context.Context, body []byte) (*session.Approval, error) {
	var in Answer
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return nil, caller.BadRequest(fmt.Errorf("reading the answer: %w", err))
	}
	if in.ApprovalID == "" || in.Approve == nil {
		return nil, caller.BadRequest(errors.New("approvalId and approve are required"))
	}
	answer := session.Answer{Verdict: session.DenyCall, Feedback: in.Feedback, By: "a NATS client"}
	if *in.Approve {
		answer.Verdict = session.ApproveOnce
	}
	approval, err := s.sessions.Answer(ctx, in.ApprovalID, answer)
	var late *session.AnsweredError
	switch {
	case errors.As(err, &late):
		return nil, &caller.Error{Status: http.StatusConflict, Code: "answered", Message: err.Error()}
	case errors.Is(err, session.ErrAmbiguous):
		return nil, caller.BadRequest(err)
	}
	return approval, err
}
