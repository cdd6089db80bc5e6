package mcpserver

import (
	"context"
	"errors"
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
	return c.await(ctx, req, child, wait{limit: c.patience(req)}), nil
}

// taskWait is the task_wait tool.
func (c *connection) taskWait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return c.resume(ctx, req), nil
	}
	var in struct {
		SessionID      string  `json:"sessionId"`
		TimeoutSeconds float64 `json:"timeoutSeconds"`
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

// outcome waits for a child of the connection that runs, or reads the result of
// one that has ended.
func (c *connection) outcome(ctx context.Context, req *mcp.CallToolRequest, sessionID string, w wait) *mcp.CallToolResult {
	child := c.running(sessionID)
	var result *taskt.Result
	var err error
	if child == nil {
		result, err = c.stored(sessionID)
	}
	if errors.Is(err, taskt.ErrRunning) {
		child = c.begun(sessionID)
	}
	if child != nil {
		_, w.heard = child.feed.last()
		return c.await(ctx, req, child, w)
	}
	if err != nil {
		return refusal(c.notHere(sessionID, err))
	}
	return c.result(req, result)
}

// wait is how a call waits for its child.
type wait struct {
	limit time.Duration   // then it is answered without a result; 0: never
	asked map[string]bool // the questions that its host was asked before
	round int             // how often it was answered with questions
	heard int             // what of the child's feed the host has heard
}

// await returns the child's result once there is one. Before that a call is
// answered when its time has passed, and with what the host is to be asked. A
// call that the host cancels stops the child, unless the host has but given up
// on waiting.
func (c *connection) await(ctx context.Context, req *mcp.CallToolRequest, child *child, w wait) *mcp.CallToolResult {
	defer c.report(ctx, req, child, w.heard)()
	ask := c.newAsker(ctx, req, w)
	defer ask.stop()
	var late <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		now := child.feed.since(w.heard)
		if questions := ask.put(now.questions); questions != nil {
			if asked := c.pose(ctx, child, ask, questions); asked != nil {
				return asked
			}
		}
		if ask.spent(now.questions) {
			return goesOn(child)
		}
		select {
		case <-child.Done():
			return c.result(req, child.Result())
		case <-late:
			return goesOn(child)
		case <-now.changed:
		case <-ctx.Done():
			if c.givenUp.has(req) {
				return goesOn(child)
			}
			child.Cancel("the host has cancelled the call")
			<-child.Done()
			return c.result(req, child.Result())
		}
	}
}

// result is a child's result as the host of a request takes it.
func (c *connection) result(req *mcp.CallToolRequest, r *taskt.Result) *mcp.CallToolResult {
	return taskResult(r, c.host(req.ClientInfo()).text)
}
