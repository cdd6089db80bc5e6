package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/control"
)

// rootSession represents a connection's host: who it is, what it may do, and the parent
// session of its children.
type rootSession struct {
	*Server
	ctx      context.Context
	identity caller.Identity
	shared   bool                 // by clients that know each other's sessions by nothing but their ids
	model    func() session.Model // of the host; it may return nil
	opened   func(event.Path)     // called with each session that is opened

	mu     sync.Mutex
	client string           // who the host is, once there was a call
	latest *session.Session // nil means there was no call yet
	ids    []string         // of latest, and of the sessions before it
}

// open returns the root session. The first call opens it in the name of the client. Once
// another process has ended it, the next call opens a new one.
func (r *rootSession) open(client *mcp.Implementation) (*session.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest != nil && !r.latest.Record().Status.Ended() {
		return r.latest, nil
	}
	r.client = r.identity.By(describeClient(client))
	root, err := r.opts.Tasks.OpenCallerOn(r.ctx, r.client, r.identity.Person(), r.model())
	if err != nil {
		return nil, fmt.Errorf("opening a session for the host: %w", err)
	}
	r.latest, r.ids = root, append(slices.Clip(r.ids), root.ID())
	r.opened(root.Path())
	return root, nil
}

// end ends the root session, if there is one.
func (r *rootSession) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil || r.latest.Record().Status.Ended() {
		return nil
	}
	if err := r.latest.End(record.Completed, nil); err != nil && !r.latest.HandedOver() {
		return fmt.Errorf("ending the host's session: %w", err)
	}
	return nil
}

// name is what people know the host by.
func (r *rootSession) name() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

// all returns the ids of the root sessions that the connection has had, the oldest first.
func (r *rootSession) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids
}

// owns reports whether a session is below the host's root sessions, or is one of them.
// Clients that share a connection do not own the root, which has the questions of all.
func (r *rootSession) owns(rec *record.Record) bool {
	return len(rec.Path) > 0 && !(r.shared && len(rec.Path) == 1) && slices.Contains(r.all(), rec.Path[0].SessionID)
}

// scope is what the host reaches with an operation: what is below its root sessions.
func (r *rootSession) scope(op *control.Operation) *control.Scope {
	return &control.Scope{Below: r.all(), By: op.Name, As: r.identity.Person()}
}

// authorize is middleware that refuses what the host's identity may not do.
func (r *rootSession) authorize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		err := r.identity.Require(scopeOf(method, req))
		if _, ok := req.(*mcp.CallToolRequest); ok && err != nil {
			return toolcall.Refusal(err), nil
		}
		if err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
}

// scopeOf is the scope that a request needs. All tools may change something, except the
// read-only ones.
func scopeOf(method string, req mcp.Request) caller.Scope {
	switch method {
	case "tools/call":
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return caller.Owner
		}
		if op := control.Find(call.Params.Name); op != nil && op.ReadOnly || call.Params.Name == toolcall.AgentsList {
			return caller.Read
		}
		return caller.Run
	case exttask.Cancel:
		return caller.Run
	case exttask.Update: // it answers what a task waits for
		return caller.Approve
	}
	return caller.Read
}

// describeClient returns the description of a host, as its root's record has it.
func describeClient(client *mcp.Implementation) string {
	if client == nil || strings.TrimSpace(client.Name) == "" {
		return "MCP host"
	}
	return termtext.OneLine("MCP host "+client.Name+" "+client.Version, termtext.MaxTitle)
}
