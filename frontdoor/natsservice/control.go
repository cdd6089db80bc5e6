package natsservice

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/upkeep"
)

// client is who calls: the server has admitted it, and does not tell who it is.
var client = caller.By{Text: "a NATS client", Person: record.Unknown}

// control makes a call of an operation.
func (s *Service) control(op *control.Operation, from micro.Request) {
	s.serve(from, "ask for a part of it with offset and limit", func(ctx context.Context, body []byte) (any, error) {
		return s.calls.Control(ctx, op, body, client)
	})
}

// keep makes a call of an operation on a session that has ended.
func (s *Service) keep(op *upkeep.Operation, from micro.Request) {
	s.serve(from, "'worker sessions' has it whole", func(ctx context.Context, body []byte) (any, error) {
		id, err := readSession(body)
		if err != nil {
			return nil, caller.BadRequest(err)
		}
		answer, err := op.Do(ctx, s.opts.Upkeep, id)
		if err == nil {
			s.opts.Logger.Info("done with a session", "operation", op.Name, "session", id, "by", client.Text)
		}
		return answer, err
	})
}

// readSession reads a request about one session.
func readSession(body []byte) (id string, err error) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := caller.Decode(body, &in); err != nil {
		return "", fmt.Errorf("reading the request: %w", err)
	}
	if in.SessionID == "" {
		return "", errors.New("sessionId is missing")
	}
	return in.SessionID, nil
}

// serve answers a request with what do returns; instead says what to do if that is too long
// for the server. It returns at once, because the library hands over one request at a time.
func (s *Service) serve(from micro.Request, instead string, do func(ctx context.Context, body []byte) (any, error)) {
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
		answer, err := do(call.Context(), req.data)
		if err != nil {
			s.refuse(req, err)
			return
		}
		s.answer(req, answer, instead)
	}()
}
