package mcpserver

import (
	"cmp"
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

	// Sessions receives the answers that hosts give to approvals; nil means no host is
	// asked.
	Sessions *store.Store

	// CallLimit is the time after which the host gives up on a call, with or without
	// progress. Calls are answered before it. 0 means what is known of the host by its
	// client's name, and no limit for an unknown one.
	CallLimit time.Duration

	// ResultLimit is how many characters of a result reach the host's model. 0 means what
	// is known of the host, and 7,500 for an unknown one.
	ResultLimit int

	// ReadOnly describes the task tool as read-only, whatever the agents may do: some hosts
	// run calls side by side only then. false: it depends on the offered agents.
	ReadOnly bool

	// ToolPerAgent offers a tool for each agent besides task. Hosts that run the calls of
	// read-only tools side by side then know which agents only read.
	ToolPerAgent bool

	// Page returns the address of the live page, empty as long as there is none; nil means
	// there is none. Clients that open addresses are sent there with approvals.
	Page func() string

	// HostModel makes the model that a host brings along, for the agents that name none;
	// nil means they run on the worker's.
	HostModel func(Sampler) session.Model

	// Silence is the longest time without a progress notification during a call. It stays
	// below the 8 s that hosts with a time limit of a minute want. 0 means 7 s.
	Silence time.Duration

	// Reflex is how soon a form comes back that nobody has read. "codex exec" and
	// "copilot -p" decline at once, which is no answer. A user who is typing when it appears
	// accepts it, and it is put again. 0 means 1 s.
	Reflex time.Duration

	// Unseen is how long a call waits for an approval that its host's user can't be asked
	// about. Then it is answered with how to answer the approval. 0 means 20 s.
	Unseen time.Duration

	// CancelGrace is how long a child goes on after its call was cancelled, if no other call
	// waits for it. It counts for hosts that do not say whether their time limit is the
	// reason. 0 means the child is stopped at once.
	CancelGrace time.Duration

	// Kept is how long a session is kept after its end; 0 means that is not limited.
	Kept time.Duration

	Logger *slog.Logger // nil discards them
}

// Server serves the task tool over MCP. It is safe for concurrent use.
type Server struct{ opts Options }

// New returns a server.
func New(opts Options) *Server {
	opts.Version = cmp.Or(opts.Version, "dev")
	opts.Silence = cmp.Or(opts.Silence, 7*time.Second)
	opts.Reflex = cmp.Or(opts.Reflex, time.Second)
	opts.Unseen = cmp.Or(opts.Unseen, 20*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Server{opts}
}

// Sampler asks the model of a host, by way of a call that waits for the child
// at the second place of path. It ends with ctx, after 10 minutes at the latest.
type Sampler func(ctx context.Context, path []string, params *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)

// host returns what is configured for hosts, else what is known of the client's.
func (s *Server) host(client *mcp.Implementation) hosts.Host {
	h := hosts.Of(client)
	if s.opts.CallLimit > 0 {
		h.Limit, h.Idle = s.opts.CallLimit, 0
	}
	if s.opts.ResultLimit > 0 {
		h.Text = hosts.Size{Max: s.opts.ResultLimit}
	}
	return h
}
