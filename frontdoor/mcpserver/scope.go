package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// scoped is middleware that refuses what the host's identity may not do.
func (c *connection) scoped(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		err := c.identity.Require(scopeOf(method, req))
		if _, ok := req.(*mcp.CallToolRequest); ok && err != nil {
			return refusal(err), nil
		}
		if err != nil {
			return nil, err
		}
		return next(ctx, method, req)
	}
}

// scopeOf is what a request takes. All tools but those that only look may change something.
func scopeOf(method string, req mcp.Request) caller.Scope {
	switch method {
	case "tools/call":
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return caller.Owner
		}
		if op := control.Find(call.Params.Name); op != nil && op.ReadOnly || call.Params.Name == agentsListName {
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

// mayAnswer reports whether the host is asked about approvals.
func (c *connection) mayAnswer(caps *mcp.ClientCapabilities) bool {
	return c.identity.May(caller.Approve) && (takesForms(caps) || c.opensPage(caps))
}

// offered is an approval as the host is asked about it: only the owner may add a rule.
func (c *connection) offered(a *store.Approval) *store.Approval {
	if c.identity.May(caller.Owner) {
		return a
	}
	once := *a
	once.AlwaysPatterns = nil
	return &once
}
