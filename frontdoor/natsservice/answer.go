package natsservice

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/taskt"
)

// agents answers with the agents that task may call now.
func (s *Service) agents(from micro.Request) {
	s.serveNow(from, func(context.Context, []byte) (any, error) {
		return offered{append([]taskt.Agent{}, s.opts.Tasks.Offer().Agents...)}, nil
	})
}

// offered is the answer of agents.
type offered struct {
	Agents []taskt.Agent `json:"agents"`
}

// answer sends an answer, or where it is too long for the server says what to do.
func (s *Service) answer(req *request, body any, instead string) {
	if data, err := caller.JSON(body); err == nil && int64(len(data)) > s.conn.MaxPayload() {
		s.refuse(req, &caller.Error{
			Status:  http.StatusRequestEntityTooLarge,
			Code:    "too_large",
			Message: fmt.Sprintf("the answer has %d bytes, and the NATS server takes %d at most: %s", len(data), s.conn.MaxPayload(), instead),
		})
		return
	}
	s.send(req, nil, body)
}

// refuse answers a request that has no result.
func (s *Service) refuse(req *request, why error) {
	e := caller.Explain(why, s.opts.Logger)
	s.send(req, nats.Header{
		micro.ErrorHeader:     {e.Message},
		micro.ErrorCodeHeader: {strconv.Itoa(e.Status)},
	}, e.Body())
}

// send answers a request with JSON.
func (s *Service) send(req *request, header nats.Header, body any) {
	data, err := caller.JSON(body)
	if err == nil {
		err = s.conn.PublishMsg(&nats.Msg{Subject: req.reply, Header: header, Data: data})
	}
	if err != nil {
		s.opts.Logger.Error("answering a request", "endpoint", req.subject, "err", err)
	}
}
