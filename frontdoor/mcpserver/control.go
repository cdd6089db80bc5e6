package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/taskt/control"
)

// operation returns the handler of an operation on the subagents of the connection.
// Two operations do more over MCP than elsewhere: task_wait asks the host's user,
// reports progress and answers before the host gives up; task_result returns no more
// than the host takes.
func (c *connection) operation(op *control.Operation) mcp.ToolHandler {
	switch op.Name {
	case taskWaitName:
		return c.taskWait
	case taskResultName:
		return c.taskResult
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var named struct {
			SessionID  string   `json:"sessionId"`
			SessionIDs []string `json:"sessionIds"`
		}
		// What else is wrong with the arguments, Do says.
		if err := readAmong(op.Name, req.Params.Arguments, &named); err != nil {
			return refusal(err), nil
		}
		if c.shared && named.SessionID == "" && len(named.SessionIDs) == 0 {
			return refusal(errShared), nil
		}
		scope := c.scope(op)
		scope.Resume = func(_ context.Context, r control.Resumption) (string, error) { return c.goOn(req.ClientInfo(), r) }
		answer, err := c.tasks.Control().Do(ctx, scope, op, req.Params.Arguments)
		if err != nil {
			return refusal(c.notHere(err)), nil
		}
		switch answer := answer.(type) {
		case *control.List:
			return c.fitted(req, answer), nil
		case *control.Stopped:
			for _, s := range answer.Sessions {
				c.tell(s.SessionID)
			}
		}
		return textResult(answer.Answer()), nil
	}
}

// scope is what the host reaches: what is below the root sessions of the
// connection.
func (c *connection) scope(op *control.Operation) *control.Scope {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &control.Scope{Below: c.roots, By: op.Name, As: c.identity.Person()}
}

// fitted is a list as long as the host takes it.
func (c *connection) fitted(req *mcp.CallToolRequest, list *control.List) *mcp.CallToolResult {
	limit := c.host(req.ClientInfo()).Text
	for n := len(list.Sessions); n > 1 && !limit.Fits(list.Answer()); n-- {
		list = list.First(n - 1)
	}
	return textResult(list.Answer())
}

// taskWait is the task_wait tool.
func (c *connection) taskWait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.resume(ctx, req), nil
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
	if err := readArguments(taskWaitName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	asked := control.WaitInput{SessionID: in.SessionID, SessionIDs: in.SessionIDs, Until: in.Until, TimeoutSeconds: in.TimeoutSeconds}
	if err := asked.Check(); err != nil {
		return refusal(&control.InputError{Operation: taskWaitName, Err: err}), nil
	}
	limit := c.patience(req)
	if s := in.TimeoutSeconds; s != nil {
		most := max(time.Duration(*s*float64(time.Second)), 1) // 0 stands for no limit
		if limit == 0 || most < limit {
			limit = most
		}
	}
	return c.outcome(ctx, req, wanted{asked.Sessions(), in.Until == "any"}, wait{limit: limit}), nil
}

// taskResult is the task_result tool: it reads on where a result was cut.
func (c *connection) taskResult(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		SessionID  string `json:"sessionId"`
		Offset     int    `json:"offset"`
		Limit      int    `json:"limit"`
		Transcript bool   `json:"transcript"`
	}
	if err := readArguments(taskResultName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	limit := c.host(req.ClientInfo()).Text
	if !in.Transcript {
		child := c.running(in.SessionID) // before the store is read: what is not here any more is there
		result, err := c.stored(in.SessionID)
		switch {
		case child != nil && errors.Is(err, control.ErrRunning):
			return c.goesOn(req, waitedChild(child)), nil
		case err != nil:
			return refusal(c.notHere(err)), nil
		}
		c.hand(ctx, result)
		if in.Offset == 0 && in.Limit == 0 && (limit.Fits(result.Told()) || result.Err != nil) {
			return taskResult(result, limit), nil
		}
	}
	in.Limit = cmp.Or(in.Limit, control.MaxPage) // the host's own limit counts
	args, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	op := control.Find(taskResultName)
	answer, err := c.tasks.Control().Do(ctx, c.scope(op), op, args)
	if err != nil {
		return refusal(c.notHere(err)), nil
	}
	return textResult(fittedPage(answer.(*control.Page), limit)), nil
}

// fittedPage is a part of a text, as long as the host takes it.
func fittedPage(page *control.Page, limit hosts.Size) string {
	text := page.Answer()
	for budget := limit.Max; !limit.Fits(text) && budget > minPage; {
		budget = max(minPage, budget-max(1, limit.Of(text)-limit.Max))
		text = page.With(hosts.HeadOf(page.Text, budget, limit)).Answer()
	}
	return text
}

// minPage is the least of a text that is worth a call, in characters.
const minPage = 64
