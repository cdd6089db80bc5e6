package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/tracecontext"
)

// task runs one call of the task tool, or goes on with one that has asked the
// host something.
func (c *connection) task(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.resume(ctx, req), nil
	}
	in, err := parseInput(req.Params.Arguments)
	if err == nil {
		err = nameAgent(ctx, &in)
	}
	if err != nil {
		return c.result(req, failure(in.AgentType, err)), nil
	}
	if parent, ok := req.Params.Meta["traceparent"].(string); ok {
		in.Traceparent = tracecontext.Parent(parent)
	}
	if err := c.canSample(req); err != nil {
		return c.result(req, failure(in.AgentType, err)), nil
	}
	child, result := c.start(req.ClientInfo(), in)
	if child == nil {
		return c.result(req, result), nil
	}
	if accepted := child.Accepted(); accepted != nil {
		return c.result(req, accepted), nil
	}
	if b := begunBy(ctx); b != nil {
		c.tell(child.SessionID()) // the task has it
		b.child = child
		return new(mcp.CallToolResult), nil
	}
	on := waitedChild(child)
	on.moved = child.Moved()
	return c.await(ctx, req, on, wait{limit: c.patience(req)}), nil
}
