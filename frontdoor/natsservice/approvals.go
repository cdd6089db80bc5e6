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
	s.serveNow(from, func(ctx context.Context, _ []byte) (any, error) { return caller.Approvals(ctx, s.opts.Sessions) })
}

// resolve answers an approval for the caller.
func (s *Service) resolve(from micro.Request) {
	s.serveNow(from, func(ctx context.Context, body []byte) (any, error) {
		return caller.AnswerApproval(ctx, s.opts.Sessions, body, client)
	})
}

// serveNow answers a request with what do returns, in the order of the requests. It needs
// no place in the pool, so that a full one can be relieved.
func (s *Service) serveNow(from micro.Request, do func(ctx context.Context, body []byte) (any, error)) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), approvalTimeout)
	defer cancel()
	answer, err := do(ctx, req.data)
	if err != nil {
		s.refuse(req, err)
		return
	}
	s.send(req, nil, answer)
}
