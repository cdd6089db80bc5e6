package mcpserver

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// Options configures a [Server]. Tasks and Bus are required.
type Options struct {
	Tasks   *taskt.Service
	Bus     *eventbus.Bus
	Version string // the worker's, as hosts show it; empty means "dev"

	// Sessions takes the answers that hosts give to approvals; nil means no host is
	// asked.
	Sessions *store.Store

	// CallLimit is the time after which the host gives up on a call, whether or
	// not there is progress: calls are answered before it. 0 means as is known of the
	// host by its client's name; no limit for one that is not known.
	CallLimit time.Duration

	// ResultLimit is how many characters of a result reach the host's model. 0 means
	// as is known of the host; 7,500 for one that is not known.
	ResultLimit int

	// ReadOnly has hosts take the task tool for one that changes nothing,
	// whatever the agents may do: some run calls side by side only then. false:
	// it depends on the agents that are offered.
	ReadOnly bool

	// ToolPerAgent offers a tool for each agent beside task: hosts that run the calls of
	// read-only tools side by side know which those are.
	ToolPerAgent bool

	// Page returns the address of the live page, empty as long as there is none; nil means
	// there is none. Clients that open addresses are sent there with approvals.
	Page func() string

	// HostModel makes the model that a host brings along, on which the agents run
	// that name none; nil means they run on the worker's.
	HostModel func(Sampler) session.Model

	// Silence is how long a call may go on without a progress notification. It
	// stays below the 8 s that hosts with a time limit of a minute want.
	// 0 means 7 s.
	Silence time.Duration

	// Reflex is how soon a form comes back that nobody has read: "codex exec" and
	// "copilot -p" decline at once, and whoever types as it appears accepts it.
	// The first is no answer, and after the second it is put again. 0 means 1 s.
	Reflex time.Duration

	// Unseen is how long an approval waits that the host's user can't be asked
	// about before the call is answered with how to answer it. 0 means 20 s.
	Unseen time.Duration

	// CancelGrace is how long a child goes on after a call was cancelled by a host
	// that does not say whether its time limit is the reason, if no other call
	// waits for it. 0 means it is stopped at once.
	CancelGrace time.Duration

	// Kept is how long a session is kept after its end; 0 means that is not limited.
	Kept time.Duration

	Logger *slog.Logger // nil discards them
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
	kept    time.Duration
	log     *slog.Logger

	sessions    *store.Store
	callLimit   time.Duration
	resultLimit int
	readOnly    bool
	perAgent    bool
	page        func() string
	hostModel   func(Sampler) session.Model
}

// New returns a server.
func New(opts Options) *Server {
	s := &Server{
		tasks: opts.Tasks, bus: opts.Bus, version: opts.Version, silence: opts.Silence, reflex: opts.Reflex, log: opts.Logger,
		unseen: opts.Unseen, grace: opts.CancelGrace, kept: opts.Kept,
		sessions: opts.Sessions, callLimit: opts.CallLimit, resultLimit: opts.ResultLimit, readOnly: opts.ReadOnly, perAgent: opts.ToolPerAgent, page: opts.Page,
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

// Sampler asks the model of a host, by way of a call that waits for the child
// at the second place of path. It ends with ctx, after 10 minutes at the latest.
type Sampler func(ctx context.Context, path []string, params *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)

// host returns what holds for the client of a request: what is configured,
// else what is known of it.
func (s *Server) host(client *mcp.Implementation) hosts.Host {
	h := hosts.Of(client)
	if s.callLimit > 0 {
		h.Limit, h.Idle = s.callLimit, 0
	}
	if s.resultLimit > 0 {
		h.Text = hosts.Size{Max: s.resultLimit}
	}
	return h
}
