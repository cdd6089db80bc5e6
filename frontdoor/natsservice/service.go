package natsservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/upkeep"
)

// Name is the service's name among NATS micro services.
const Name = "agentworker"

// version is the contract's: agents.v1.
const version = "1.0.0"

// flushTimeout bounds how long the last answers may take to reach the server.
const flushTimeout = 5 * time.Second

// Options configures a [Service]. Tasks, Sessions and Bus are required.
type Options struct {
	Tasks    *taskt.Service
	Sessions *store.Store
	Bus      *eventbus.Bus

	// Upkeep does what callers may do with ended sessions; nil means that it is not
	// offered.
	Upkeep *upkeep.Upkeep

	// MaxCalls bounds the task calls whose callers wait for the answer, or for a slot, at once;
	// 0 means [taskt.Limits.OpenCalls]. More are answered "busy".
	MaxCalls int

	Logger *slog.Logger // nil discards them
}

// Service is the running service.
type Service struct {
	opts  Options
	conn  *nats.Conn
	calls *caller.Pool
	peers *peers
	slots *slots.Dispatcher[*request]
	micro micro.Service
	done  chan struct{} // closed when everything has ended
	err   error         // of the end; read after done
}

// Start starts the service on the bus's connection. It serves until ctx ends;
// then it takes no more requests, cancels the calls that run, and answers
// them. Wait returns when that is done.
func Start(ctx context.Context, opts Options) (*Service, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.MaxCalls = cmp.Or(opts.MaxCalls, opts.Tasks.OpenCalls())
	s := &Service{opts: opts, conn: opts.Bus.Conn(), done: make(chan struct{})}
	s.calls = caller.New(s.opts.Tasks, opts.MaxCalls, s.opts.Logger)
	s.peers = &peers{conn: s.conn, subject: "agents.v1." + s.opts.Bus.Workspace() + ".workers", enter: s.accept, log: s.opts.Logger}
	s.slots = slots.NewDispatcher(s.opts.Tasks.Load, s.peers, s.opts.Logger)
	s.peers.wake = s.slots.Wake
	if err := s.subscribe(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the NATS service: %w", err), s.stop())
	}
	go func() {
		defer close(s.done)
		<-ctx.Done()
		s.err = s.stop()
	}()
	return s, nil
}

func (s *Service) subscribe() error {
	var err error
	s.micro, err = micro.AddService(s.conn, micro.Config{
		Name:        Name,
		Version:     version,
		Description: "runs the agents of a repository as subagents",
		Metadata:    map[string]string{"workspace": s.opts.Bus.Workspace()},
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.opts.Logger.Warn("NATS service", "subject", err.Subject, "err", err)
		},
	})
	if err != nil {
		return err
	}
	if err := s.peers.open(); err != nil {
		return err
	}
	if err := s.slots.Open(); err != nil {
		return err
	}
	group := s.micro.AddGroup(s.Subject())
	var errs []error
	for _, e := range s.endpoints() {
		errs = append(errs, group.AddEndpoint(e.name, e.handler, micro.WithEndpointMetadata(e.metadata())))
	}
	errs = append(errs, s.conn.FlushTimeout(flushTimeout)) // now the server knows of them
	return errors.Join(errs...)
}

// Subject returns the subject below which the endpoints are.
func (s *Service) Subject() string { return "agents.v1." + s.opts.Bus.Workspace() + ".service" }

// Wait returns when the service has ended in order.
func (s *Service) Wait() error {
	<-s.done
	return s.err
}

func (s *Service) stop() error {
	var err error
	if s.micro != nil {
		err = s.micro.Stop()
	}
	err = errors.Join(err, s.slots.Close(), s.peers.close())
	s.calls.Close()
	return errors.Join(err, s.conn.FlushTimeout(flushTimeout))
}
