package natsservice

import (
	"context"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/taskt/control"
)

// control makes a call of an operation. The library hands over one request at a
// time, so that it happens elsewhere.
func (s *Service) control(op *control.Operation, from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		return
	}
	call, err := s.calls.Begin(context.Background())
	if err != nil {
		s.refuse(req, err)
		return
	}
	go func() { // the pool waits for it
		defer call.Done()
		answer, err := s.calls.Control(call.Context(), op, req.data, "a NATS client")
		if err != nil {
			s.refuse(req, err)
			return
		}
		s.answer(req, answer, "ask for a part of it with offset and limit")
	}()
}
