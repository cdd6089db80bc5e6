package httpserver

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/upkeep"
)

// Options configures a [Server]. All but the first four are optional.
type Options struct {
	Tasks    *taskt.Service
	Sessions *store.Store
	Bus      *eventbus.Bus
	Token    string // what callers have to know; see [OpenToken]

	// MCP is served at /mcp; nil means the address does not exist. The server closes it
	// at its own end.
	MCP MCP

	// Page is the page for people; nil means there is none. The server fills in what it shares
	// with it.
	Page *page.Options

	// Agent returns the agent of a name with all that is known of it; nil means none is known.
	Agent func(name string) (agent any, ok bool)

	// Explain says what the rules make of a tool call, in the form of "worker permission
	// explain --json". arg is what the call is about, or a JSON object with all arguments. The
	// error is for the caller. nil means that the worker does not explain calls.
	Explain func(ctx context.Context, agent, tool, arg string) (any, error)

	// Upkeep does what callers may do with ended sessions; nil means that it is not
	// offered.
	Upkeep *upkeep.Upkeep

	// Snapshots has what sessions have changed in files; nil means that this is not offered.
	Snapshots *snapshot.Store

	// Audit is the audit log; nil means that the worker keeps none.
	Audit *audit.Log

	// Tokens are the named tokens; nil means there are none.
	Tokens *tokens.File

	// TLS has the server listen with TLS too; nil means it does not.
	TLS *TLS

	// Profiles has the server answer what pprof asks, for the owner on loopback addresses.
	Profiles bool

	// MaxCalls bounds the task calls whose callers wait for the answer, or for a slot, at once;
	// 0 means [taskt.Limits.OpenCalls]. More are answered "busy".
	MaxCalls int

	// MaxStreams bounds the streams of events, of the page and of MCP that a token may hold open
	// at once; 0 means [DefaultMaxStreams].
	MaxStreams int

	// Heartbeat is the time between comments on a stream where nothing
	// happens; 0 means 15 s.
	Heartbeat time.Duration

	Logger *slog.Logger // nil discards them
}

// TLS says where a server listens with TLS, and with which certificate. Whoever reaches the
// address may connect; only named tokens count there.
type TLS struct {
	Addr     string // with a port; 0 is any free one
	CertFile string // PEM, with the certificates between it and the root
	KeyFile  string // PEM
}

// MCP serves the Model Context Protocol over streamable HTTP.
type MCP interface {
	http.Handler

	// Identities returns the identities that have made requests and were not ended.
	Identities() []caller.Identity

	// End ends the sessions of an identity with what their calls have started, and does not
	// wait for that.
	End(identity caller.Identity)

	// Close takes no more requests, cancels the calls, lets them be answered,
	// and returns when their sessions have ended.
	Close()
}
