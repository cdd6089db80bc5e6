package natsservice

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/taskt"
)

// SessionHeader names the subject on which the caller of a task wants to be
// told where its events stand; see the package's documentation.
const SessionHeader = "Agent-Session-Reply"

// Opened is what is published on the subject of [SessionHeader].
type Opened struct {
	RootSessionID string `json:"rootSessionId"`
	Subject       string `json:"subject"` // of all events of the call
	Stream        string `json:"stream"`  // the JetStream stream that keeps them
}

// task takes a call. The library hands over one request at a time, so that
// what takes long happens elsewhere.
func (s *Service) task(req micro.Request) {
	if !answerable(req.Reply()) {
		s.log.Warn("a task call without a subject to answer on is not run", "reply", req.Reply())
		return
	}
	call, err := s.calls.Begin(context.Background())
	if err != nil {
		s.refuse(req, err)
		return
	}
	go func() { // the pool waits for it
		defer call.Done()
		result, err := s.run(call, req)
		if err != nil {
			s.refuse(req, err)
			return
		}
		s.answer(req, result)
	}()
}

func (s *Service) run(call *caller.Call, req micro.Request) (*taskt.Result, error) {
	in, err := s.tasks.ReadInput(req.Data())
	if err != nil {
		return nil, caller.BadRequest(err)
	}
	announce := req.Headers().Get(SessionHeader)
	if announce != "" && !answerable(announce) {
		return nil, caller.BadRequest(fmt.Errorf("the header %s: %q is no subject to publish on", SessionHeader, announce))
	}
	root, err := call.Open("NATS task " + in.AgentType)
	if err != nil {
		return nil, err
	}
	if announce != "" {
		if err := s.announce(announce, root.Path()); err != nil {
			s.log.Error("announcing a session", "session", root.ID(), "subject", announce, "err", err)
		}
	}
	return call.Run(in), nil
}

// announce publishes where the events of a root session stand.
func (s *Service) announce(on string, root eventbus.Path) error {
	subject, err := s.bus.Subject(root)
	if err != nil {
		return err
	}
	data, err := caller.JSON(Opened{RootSessionID: root[0].SessionID, Subject: subject + ".>", Stream: eventbus.Stream})
	if err != nil {
		return err
	}
	return s.conn.Publish(on, data)
}
