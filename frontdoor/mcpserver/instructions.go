package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions is what the host's model reads about the server as a whole.
// Hosts cut it at 4,096 characters.
const instructions = "The task tool gives work to subagents that this repository defines. " +
	"Each works in a session of its own, with the permissions of its definition, and answers once, at the end. " +
	"Where a call is answered before its subagent has ended, the subagent goes on, and task_wait brings its answer."

// sideBySide is added to the instructions of a host that does it.
const sideBySide = " Independent tasks go into several calls in one turn: they run side by side."

// listTTL is how long a client may use a list without asking again. Clients that listen are
// notified of a change; others are not.
const listTTL = 2 * time.Second

// setCacheable says how long a client may keep a result: the lists of what is offered for a
// moment, and what sessions do not at all. They are no other client's.
func setCacheable(_ context.Context, req mcp.Request, cache *mcp.Cacheable) {
	cache.CacheScope = "private"
	switch req.(type) {
	case *mcp.ListToolsRequest, *mcp.ListPromptsRequest, *mcp.ListResourceTemplatesRequest:
		cache.TTLMs = int(listTTL.Milliseconds())
	}
}

// instruct adapts the instructions to the host.
func (t *toolSet) instruct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch res := res.(type) {
		case *mcp.InitializeResult:
			if init, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok {
				res.Instructions = t.instructions(init.Params.ClientInfo)
			}
			res.Capabilities = withoutExtensions(res.Capabilities)
		case *mcp.DiscoverResult:
			if discover, ok := req.(*mcp.ServerRequest[*mcp.DiscoverParams]); ok {
				res.Instructions = t.instructions(discover.ClientInfo())
			}
		}
		return res, err
	}
}

func (t *toolSet) instructions(client *mcp.Implementation) string {
	if t.listed.SideBySide(t.host(client)) {
		return instructions + sideBySide
	}
	return instructions
}

// withoutExtensions are the capabilities for a client whose version of the protocol
// has none of the extensions.
func withoutExtensions(caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if caps == nil {
		return nil
	}
	plain := *caps
	plain.Extensions = nil
	return &plain
}
