package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/taskt/control"
)

// operation returns the handler of an operation on the subagents of the connection.
// Two operations do more over MCP than elsewhere: task_wait asks the host's user,
// reports progress and answers before the host gives up; task_result returns no more
// than the host takes.
func (c *waiter) operation(op *control.Operation) mcp.ToolHandler {
	switch op.Name {
	case toolcall.TaskWait:
		return c.taskWait
	case toolcall.TaskResult:
		return c.taskResult
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var named struct {
			SessionID  string   `json:"sessionId"`
			SessionIDs []string `json:"sessionIds"`
		}
		// What else is wrong with the arguments, Do says.
		if err := toolcall.ReadSome(op.Name, req.Params.Arguments, &named); err != nil {
			return toolcall.Refusal(err), nil
		}
		if c.root.shared && named.SessionID == "" && len(named.SessionIDs) == 0 {
			return toolcall.Refusal(errShared), nil
		}
		scope := c.root.scope(op)
		scope.Resume = func(_ context.Context, r control.Resumption) (string, error) {
			return c.children.resume(req.ClientInfo(), r)
		}
		answer, err := c.opts.Tasks.Control().Do(ctx, scope, op, req.Params.Arguments)
		if err != nil {
			return toolcall.Refusal(explained(err)), nil
		}
		switch answer := answer.(type) {
		case *control.List:
			return c.fitted(req, answer), nil
		case *control.Stopped:
			for _, s := range answer.Sessions {
				c.children.markDelivered(s.SessionID)
			}
		}
		return toolcall.Text(answer.Answer()), nil
	}
}

// fitted is a list as long as the host takes it.
func (c *waiter) fitted(req *mcp.CallToolRequest, list *control.List) *mcp.CallToolResult {
	limit := c.host(req.ClientInfo()).Text
	for n := len(list.Sessions); n > 1 && !limit.Fits(list.Answer()); n-- {
		list = list.First(n - 1)
	}
	return toolcall.Text(list.Answer())
}

// taskWait is the task_wait tool.
func (c *waiter) taskWait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.again(ctx, req), nil
	}
	var in struct {
		SessionID      string   `json:"sessionId"`
		SessionIDs     []string `json:"sessionIds"`
		Until          string   `json:"until"`
		TimeoutSeconds *float64 `json:"timeoutSeconds"`

		// They make a call differ from the one before: hosts end a turn of equal
		// calls.
		Attempt      float64 `json:"attempt"`
		SinceSeconds float64 `json:"sinceSeconds"`
	}
	if err := toolcall.Read(toolcall.TaskWait, req.Params.Arguments, &in); err != nil {
		return toolcall.Refusal(err), nil
	}
	asked := control.WaitInput{SessionID: in.SessionID, SessionIDs: in.SessionIDs, Until: in.Until, TimeoutSeconds: in.TimeoutSeconds}
	if err := asked.Check(); err != nil {
		return toolcall.Refusal(&control.InputError{Operation: toolcall.TaskWait, Err: err}), nil
	}
	limit := c.patience(req)
	if s := in.TimeoutSeconds; s != nil {
		most := max(time.Duration(*s*float64(time.Second)), 1) // 0 means no limit
		if limit == 0 || most < limit {
			limit = most
		}
	}
	return c.wait(ctx, req, wanted{asked.Sessions(), in.Until == "any"}, waitState{limit: limit}), nil
}

// taskResult is the task_result tool: it reads on where a result was cut.
func (c *waiter) taskResult(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		SessionID  string `json:"sessionId"`
		Offset     int    `json:"offset"`
		Limit      int    `json:"limit"`
		Transcript bool   `json:"transcript"`
	}
	if err := toolcall.Read(toolcall.TaskResult, req.Params.Arguments, &in); err != nil {
		return toolcall.Refusal(err), nil
	}
	limit := c.host(req.ClientInfo()).Text
	if !in.Transcript {
		child := c.children.find(in.SessionID) // before the store is read: what is not here any more is there
		result, err := c.children.result(in.SessionID)
		switch {
		case child != nil && errors.Is(err, control.ErrRunning):
			return c.children.goesOn(req, single(child)), nil
		case err != nil:
			return toolcall.Refusal(explained(err)), nil
		}
		c.children.deliver(ctx, result)
		if in.Offset == 0 && in.Limit == 0 && (limit.Fits(result.ForModel()) || result.Err != nil) {
			return toolcall.Result(result, limit), nil
		}
	}
	in.Limit = cmp.Or(in.Limit, control.MaxPage) // the host's own limit counts
	args, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	op := control.Find(toolcall.TaskResult)
	answer, err := c.opts.Tasks.Control().Do(ctx, c.root.scope(op), op, args)
	if err != nil {
		return toolcall.Refusal(explained(err)), nil
	}
	return toolcall.Text(toolcall.Page(answer.(*control.Page), limit)), nil
}
