package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/taskt"
)

// instructions is what the host's model reads about the server as a whole.
// Hosts cut it at 4,096 characters.
const instructions = "The task tool gives work to subagents that this repository defines. " +
	"Each works in a session of its own, with the permissions of its definition, and answers once, at the end. " +
	"Independent tasks go into several calls in one turn: they run side by side."

// Options configures a [Server]. Tasks and Bus are required.
type Options struct {
	Tasks   *taskt.Service
	Bus     *eventbus.Bus
	Version string // the worker's, as hosts show it; empty: "dev"

	// Silence is how long a call may go on without a progress notification. It
	// stays below the 8 s that hosts with a time limit of a minute want.
	// 0: 7 s.
	Silence time.Duration

	Logger *slog.Logger // nil: discard
}

// Server serves the task tool over MCP. It is safe for concurrent use.
type Server struct {
	tasks   *taskt.Service
	bus     *eventbus.Bus
	version string
	silence time.Duration
	log     *slog.Logger
}

// New returns a server.
func New(opts Options) *Server {
	s := &Server{tasks: opts.Tasks, bus: opts.Bus, version: opts.Version, silence: opts.Silence, log: opts.Logger}
	if s.version == "" {
		s.version = "dev"
	}
	if s.silence == 0 {
		s.silence = 7 * time.Second
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Serve serves one connection until the host ends it or ctx ends; neither is
// an error. Then it cancels the calls that still run, sends their results if
// the host still reads, and returns when the connection's sessions have ended.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	c := newConnection(ctx, s)
	server := c.server()
	session, err := server.Connect(ctx, &draining{Transport: t, ctx: ctx, cancelCalls: c.cancel, log: s.log}, nil)
	if err != nil {
		return errors.Join(err, c.close())
	}
	c.follows.Go(func() { c.announce(server) })
	err = session.Wait()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) { // the host has gone
		c.log.Warn("the host does not read any more", "err", err)
		err = nil
	}
	return errors.Join(err, c.close())
}
