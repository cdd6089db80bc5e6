package natsservice

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/termtext"
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

// request is what a caller has sent. The library's own may be used only until
// its handler has returned.
type request struct {
	subject, reply string
	header         nats.Header
	data           []byte
}

func newRequest(req micro.Request) *request {
	return &request{req.Subject(), req.Reply(), nats.Header(req.Headers()), req.Data()}
}

// task accepts a call. The library hands over one request at a time, so that
// what takes long happens elsewhere.
func (s *Service) task(from micro.Request) {
	req := newRequest(from)
	if !answerable(req.reply) {
		s.opts.Logger.Warn("a task call without a subject to answer on is not run", "reply", termtext.OneLine(req.reply, termtext.MaxTitle))
		return
	}
	call, err := s.calls.Begin(context.Background())
	if err != nil {
		s.refuse(req, err)
		return
	}
	go func() { // the pool waits for it
		in, err := s.check(req) // before it waits for a slot
		if err != nil {
			s.refuse(req, err)
			call.Done()
			return
		}
		enter := s.slots.Enter
		if s.opts.Tasks.InBackground(in) {
			enter = s.slots.EnterNow
		}
		here, err := enter(req)
		if err != nil {
			s.refuse(req, err)
		}
		if !here || err != nil {
			call.Done()
			return
		}
		s.finish(call, req)
	}()
}

// accept runs a call that another worker hands on, if a slot is still free.
func (s *Service) accept(req *request) bool {
	if !s.slots.TryEnter() {
		return false
	}
	call, err := s.calls.Begin(context.Background())
	if err != nil {
		s.slots.Leave()
		return false
	}
	go s.finish(call, req)
	return true
}

// finish runs a call that has its slot, answers it, and gives the slot back when it
// is over.
func (s *Service) finish(call *caller.Call, req *request) {
	defer call.Done()
	defer s.slots.Leave()
	in, err := s.open(call, req)
	if err != nil {
		s.refuse(req, err)
		return
	}
	var result *taskt.Result
	var finish func()
	if s.opts.Tasks.InBackground(in) {
		result, finish, err = call.Start(in)
	} else {
		result, finish = call.Wait(in)
	}
	defer finish()
	if err != nil {
		s.refuse(req, err)
		return
	}
	doc := result.Document()
	s.answer(req, doc, "read it from the events of session "+doc.SessionID+", or by parts with task_result")
}

// check reads a call. An error: no worker with these agents can run it.
func (s *Service) check(req *request) (taskt.Input, error) {
	in, err := s.opts.Tasks.ReadInput(req.data)
	if err != nil {
		return in, caller.BadRequest(err)
	}
	if on := req.header.Get(SessionHeader); on != "" && !answerable(on) {
		return in, caller.BadRequest(fmt.Errorf("the header %s: %.100q cannot be published on: a subject has at most %d bytes and must not be one of the server's or the workers' own",
			SessionHeader, on, maxReply))
	}
	return in, nil
}

// open opens the session of a call.
func (s *Service) open(call *caller.Call, req *request) (taskt.Input, error) {
	in, err := s.check(req) // again: the agents may have changed while it waited
	if err != nil {
		return in, err
	}
	root, err := call.Open(caller.By{Text: "NATS task " + in.AgentType, Person: client.Person})
	if err != nil {
		return in, err
	}
	if on := req.header.Get(SessionHeader); on != "" {
		err := root.AwaitStored(call.Context())
		if err == nil {
			err = s.announce(on, root.Path())
		}
		if err != nil {
			s.opts.Logger.Error("announcing a session", "session", root.ID(), "subject", on, "err", err)
		}
	}
	return in, nil
}

// announce publishes where the events of a root session stand.
func (s *Service) announce(on string, root event.Path) error {
	subject, err := s.opts.Bus.Subject(root)
	if err != nil {
		return err
	}
	data, err := caller.JSON(Opened{RootSessionID: root[0].SessionID, Subject: subject + ".>", Stream: eventbus.Stream})
	if err != nil {
		return err
	}
	return s.conn.Publish(on, data)
}
