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
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

// instructions is what the host's model reads about the server as a whole.
// Hosts cut it at 4,096 characters.
const instructions = "The task tool gives work to subagents that this repository defines. " +
	"Each works in a session of its own, with the permissions of its definition, and answers once, at the end. " +
	"Where a call is answered before its subagent has ended, the subagent goes on, and task_wait brings its answer."

// sideBySide is added to the instructions of a host that does it.
const sideBySide = " Independent tasks go into several calls in one turn: they run side by side."

// Options configures a [Server]. Tasks and Bus are required.
type Options struct {
	Tasks   *taskt.Service
	Bus     *eventbus.Bus
	Version string // the worker's, as hosts show it; empty: "dev"

	// Sessions takes the answers that hosts give to approvals; nil: no host is
	// asked.
	Sessions *session.Store

	// CallLimit is the time after which the host gives up on a call, whether or
	// not there is progress: calls are answered before it. 0: as is known of the
	// host by its client's name; no limit for one that is not known.
	CallLimit time.Duration

	// ResultLimit is how many characters of a result reach the host's model. 0:
	// as is known of the host; 7,500 for one that is not known.
	ResultLimit int

	// ReadOnly has hosts take the task tool for one that changes nothing,
	// whatever the agents may do: some run calls side by side only then. false:
	// it depends on the agents that are offered.
	ReadOnly bool

	// HostModel makes the model that a host brings along, on which the agents run
	// that name none; nil: they run on the worker's.
	HostModel func(Sampler) session.Model

	// Silence is how long a call may go on without a progress notification. It
	// stays below the 8 s that hosts with a time limit of a minute want.
	// 0: 7 s.
	Silence time.Duration

	// Reflex is how soon a form comes back that nobody has read: "codex exec" and
	// "copilot -p" decline at once, and whoever types as it appears accepts it.
	// The first is no answer, and after the second it is put again. 0: 1 s.
	Reflex time.Duration

	// Unseen is how long an approval waits that the host's user can't be asked
	// about before the call is answered with how to answer it. 0: 20 s.
	Unseen time.Duration

	// CancelGrace is how long a child goes on after a call was cancelled by a host
	// that does not say whether its time limit is the reason, if no other call
	// waits for it. 0: it is stopped at once.
	CancelGrace time.Duration

	Logger *slog.Logger // nil: discard
}

// Server serves the task tool over MCP. It is safe for concurrent use.
type Server struct {
	tasks   *taskt.Service
	bus     *eventbus.Bus
	version string
	silence time.Duration
	reflex  time.Duration
	unseen  time.Duration
	grace   time.Duration
	log     *slog.Logger

	sessions    *session.Store
	callLimit   time.Duration
	resultLimit int
	readOnly    bool
	hostModel   func(Sampler) session.Model
}

// New returns a server.
func New(opts Options) *Server {
	s := &Server{
		tasks: opts.Tasks, bus: opts.Bus, version: opts.Version, silence: opts.Silence, reflex: opts.Reflex, log: opts.Logger,
		unseen: opts.Unseen, grace: opts.CancelGrace,
		sessions: opts.Sessions, callLimit: opts.CallLimit, resultLimit: opts.ResultLimit, readOnly: opts.ReadOnly,
		hostModel: opts.HostModel,
	}
	if s.version == "" {
		s.version = "dev"
	}
	if s.silence == 0 {
		s.silence = 7 * time.Second
	}
	if s.reflex == 0 {
		s.reflex = time.Second
	}
	if s.unseen == 0 {
		s.unseen = 20 * time.Second
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
	host, err := server.Connect(ctx, &draining{Transport: t, ctx: ctx, cancelCalls: c.cancel, givenUp: &c.givenUp, log: s.log}, nil)
	if err != nil {
		return errors.Join(err, c.close())
	}
	c.owned.Go(func() { c.announce(server) })
	c.owned.Go(c.prompts)
	err = host.Wait()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) { // the host has gone
		c.log.Warn("the host does not read any more", "err", err)
		err = nil
	}
	return errors.Join(err, c.close())
}
