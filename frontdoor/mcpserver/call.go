package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// taskResult is the task_result tool: it reads on where a result was cut.
func (c *connection) taskResult(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		SessionID string `json:"sessionId"`
		Offset    int    `json:"offset"`
	}
	if err := readArguments(taskResultName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	child := c.running(in.SessionID) // before the store is read: what is not here any more is there
	result, err := c.stored(in.SessionID)
	if err == nil {
		c.tell(in.SessionID)
	}
	if child != nil && errors.Is(err, taskt.ErrRunning) {
		return c.goesOn(req, waitedChild(child)), nil
	}
	if err != nil {
		return refusal(c.notHere(in.SessionID, err)), nil
	}
	limit := c.host(req.ClientInfo()).Text
	if in.Offset == 0 && limit.Fits(result.XML()) || result.Err != nil {
		return taskResult(result, limit), nil
	}
	text, err := page(result, in.Offset, limit)
	if err != nil {
		return refusal(err), nil
	}
	return textResult(text), nil
}

// taskStop is the task_stop tool.
func (c *connection) taskStop(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := readArguments(taskStopName, req.Params.Arguments, &in); err != nil {
		return refusal(err), nil
	}
	var children []*child
	switch {
	case in.SessionID != "":
		child := c.running(in.SessionID)
		if child == nil {
			return c.notRunning(in.SessionID), nil
		}
		children = append(children, child)
	case c.shared:
		return refusal(errShared), nil
	default:
		children, _ = c.family(false)
	}
	if len(children) == 0 {
		return textResult("No subagent of this connection runs."), nil
	}
	for _, child := range children {
		child.Cancel("it was stopped by " + taskStopName)
	}
	var b strings.Builder
	for _, child := range children {
		<-child.Done()
		c.tell(child.SessionID())
		fmt.Fprintf(&b, "The subagent %s in session %s has ended (%s), after %s.\n", child.Agent(), child.SessionID(), child.Result().Status, child.age())
	}
	return textResult(strings.TrimSpace(b.String())), nil
}

// notRunning says of a session that was to be stopped why it was not.
func (c *connection) notRunning(sessionID string) *mcp.CallToolResult {
	result, err := c.stored(sessionID)
	if errors.Is(err, taskt.ErrRunning) {
		if child := c.begun(sessionID); child != nil {
			err = fmt.Errorf("session %s was beginning: make the call again", sessionID)
		}
	}
	if err != nil {
		return refusal(c.notHere(sessionID, err))
	}
	return textResult(fmt.Sprintf("The subagent %s in session %s had ended before (%s).", result.Agent, sessionID, result.Status))
}
