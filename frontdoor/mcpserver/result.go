package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

func failure(agent string, err error) *taskt.Result {
	return &taskt.Result{Agent: agent, Status: session.Failed, Text: err.Error(), Err: err}
}

// taskResult is a result as hosts get it: all that the model is to read is in
// the text, since some show it nothing else and others structured content alone.
func taskResult(r *taskt.Result, limit size) *mcp.CallToolResult {
	text, cut := fitResult(r, limit)
	meta := mcp.Meta{"status": r.Status, "usage": r.Record.Usage, "durationMs": r.Duration.Milliseconds()}
	if r.SessionID != "" {
		meta["sessionId"] = r.SessionID
	}
	if cut {
		meta["truncated"] = true
	}
	res := textResult(text)
	res.Meta, res.IsError = meta, r.Err != nil
	return res
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// refusal tells the model that a call can't be made.
func refusal(err error) *mcp.CallToolResult {
	res := textResult(err.Error())
	res.IsError = true
	return res
}

// goesOn is the answer to a call whose child has not ended.
func goesOn(child *child) *mcp.CallToolResult {
	id := child.SessionID()
	doing := ""
	if last, _ := child.feed.last(); last != "" {
		doing = " Just now: " + last + "."
	}
	res := textResult(fmt.Sprintf("The subagent %s goes on in session %s, after %s. This is not its answer yet.%s\n"+
		`To get the answer, call %s with {"sessionId": %q}, again if need be. It runs meanwhile: do other work first if there is some.`,
		child.Agent(), id, child.age(), doing, taskWaitName, id))
	res.Meta = mcp.Meta{"sessionId": id, "status": session.Running, "durationMs": child.age().Milliseconds()}
	return res
}

// notHere explains why there is no result of a session.
func (c *connection) notHere(sessionID string, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("%w: no call of task on this connection has that session id; of another one, 'worker sessions show' has it in a terminal", err)
	}
	return err
}

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
	if child != nil && errors.Is(err, taskt.ErrRunning) {
		return goesOn(child), nil
	}
	if err != nil {
		return refusal(c.notHere(in.SessionID, err)), nil
	}
	limit := c.host(req.ClientInfo()).text
	if in.Offset == 0 && limit.fits(result.XML()) || result.Err != nil {
		return taskResult(result, limit), nil
	}
	text, err := page(result, in.Offset, limit)
	if err != nil {
		return refusal(err), nil
	}
	return textResult(text), nil
}
