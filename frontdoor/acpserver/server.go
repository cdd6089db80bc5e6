package acpserver

import (
	"log/slog"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// Options configures a [Server]. Tasks, Agents, Sessions, Bus and Root are required.
type Options struct {
	Tasks    *taskt.Service
	Agents   taskt.Agents
	Sessions *store.Store
	Bus      *eventbus.Bus
	Root     string // the workspace's folder

	Agent   string // with whom sessions begin; empty means the default
	Version string // the worker's, as clients show it; empty means "dev"

	// Models are the names of models that a client's user may choose from; CheckModel
	// says why one can't be had. nil means there is no choice.
	Models     []string
	CheckModel func(name string) error

	// IgnoreMCP opens sessions for which the client names MCP servers, without them.
	IgnoreMCP bool

	// ServerHosts are the hosts that programs of such servers may reach, by the servers' names.
	ServerHosts map[string][]string

	// Explain describes an error and its remedy; nil means only the error.
	Explain func(error) string

	// Grace is how long a client may take to read the last messages. 0 means 5 s.
	Grace time.Duration

	Logger *slog.Logger // nil discards them
}

// Server serves primary agents over ACP. It is safe for concurrent use.
type Server struct {
	opts Options
	log  *slog.Logger
}

// New returns a server.
func New(opts Options) *Server {
	s := &Server{opts: opts, log: opts.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Version == "" {
		s.opts.Version = "dev"
	}
	if s.opts.Grace == 0 {
		s.opts.Grace = 5 * time.Second
	}
	if s.opts.Explain == nil {
		s.opts.Explain = errtext.Of
	}
	return s
}

// invalid is the error of params that say what can't be done.
func invalid(err error) error {
	return &acp.RequestError{Code: -32602, Message: termtext.OneLine("invalid params: "+err.Error(), termtext.MaxText)}
}
