package natsservice

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// approvalTimeout bounds the reading and the answering of approvals.
const approvalTimeout = 10 * time.Second

// approvals answers with the tool calls that wait.
func (s *Service) approvals(from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), approvalTimeout)
	defer cancel()
	pending, err := caller.Approvals(ctx, s.sessions)
	if err != nil {
		s.refuse(req, err)
		return
	}
	s.send(req, nil, pending)
}

// resolve answers an approval for the caller.
func (s *Service) resolve(from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), approvalTimeout)
	defer cancel()
	approval, err := caller.AnswerApproval(ctx, s.sessions, req.data, client)
	if err != nil {
		s.refuse(req, err)
		return
	}
	s.send(req, nil, approval)
}
