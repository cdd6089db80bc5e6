package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/taskt"
)

// task runs one call of the task tool, or goes on with one that has asked the
// host something.
func (c *connection) task(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.resume(ctx, req), nil
	}
	in, err := parseInput(req.Params.Arguments)
	if err != nil {
		return c.result(req, failure(in.AgentType, err)), nil
	}
	if err := c.canSample(req); err != nil {
		return c.result(req, failure(in.AgentType, err)), nil
	}
	child, result := c.start(req.ClientInfo(), in)
	if child == nil {
		return c.result(req, result), nil
	}
	return c.await(ctx, req, waitedChild(child), wait{limit: c.patience(req)}), nil
}

// taskWait is the task_wait tool.
func (c *connection) taskWait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.resume(ctx, req), nil
	}
	var in struct {
		SessionID      string  `json:"sessionId"`
		TimeoutSeconds float64 `json:"timeoutSeconds"`

		// They make a call differ from the one before: hosts end a turn of equal
		// calls.
		Attempt      float64 `json:"attempt"`
		SinceSeconds float64 `json:"sinceSeconds"`
	}
	if err := readArguments(taskWaitName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	if in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxWait.Seconds() {
		return refusal(fmt.Errorf("the arguments of %s: timeoutSeconds %v is not within 0 and %v", taskWaitName, in.TimeoutSeconds, maxWait.Seconds())), nil
	}
	limit := c.patience(req)
	if asked := time.Duration(in.TimeoutSeconds * float64(time.Second)); asked > 0 && (limit == 0 || asked < limit) {
		limit = asked
	}
	return c.outcome(ctx, req, in.SessionID, wait{limit: limit}), nil
}

// maxWait is the longest time that task_wait takes: no child runs longer.
const maxWait = 24 * time.Hour

// patience is after what time a call has to be answered; 0: there is none.
func (c *connection) patience(req *mcp.CallToolRequest) time.Duration {
	return c.host(req.ClientInfo()).patience(req.Params.GetProgressToken() != nil)
}

// result is a child's result as the host of a request takes it.
func (c *connection) result(req *mcp.CallToolRequest, r *taskt.Result) *mcp.CallToolResult {
	return taskResult(r, c.host(req.ClientInfo()).text)
}
