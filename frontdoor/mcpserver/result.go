package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

func failure(agent string, err error) *taskt.Result {
	return &taskt.Result{Agent: agent, Status: session.Failed, Text: errtext.Of(err), Err: err}
}

// taskResult is a result as hosts get it: all that the model is to read is in
// the text, since some show it nothing else and others structured content alone.
func taskResult(r *taskt.Result, limit size) *mcp.CallToolResult {
	text, cut := truncateResult(r, limit)
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
	res := textResult(errtext.Of(err))
	res.IsError = true
	return res
}

// goesOn is the answer to a call whose child has not ended. The call that it
// asks for differs from the one before: hosts end a turn of equal calls.
func (c *connection) goesOn(req *mcp.CallToolRequest, on *waited) *mcp.CallToolResult {
	if on.id == "" {
		res := c.listChildren(req)
		c.mu.Lock()
		c.attempts++
		attempt := c.attempts
		c.mu.Unlock()
		again := fmt.Sprintf(`{"attempt": %d, "sinceSeconds": %d}`, attempt, int(on.children[0].age().Seconds()))
		res.Content = append(res.Content, &mcp.TextContent{Text: awaited(on.progress) + howToWait(again)})
		res.Meta = mcp.Meta{"status": session.Running}
		return res
	}
	child := on.children[0]
	c.mu.Lock()
	child.attempts++
	attempt := child.attempts
	c.mu.Unlock()
	age := child.age()
	again := fmt.Sprintf(`{"sessionId": %q, "attempt": %d, "sinceSeconds": %d}`, on.id, attempt, int(age.Seconds()))
	res := textResult(fmt.Sprintf("The subagent %s goes on in session %s, after %s. This is not its answer yet%s\n",
		child.Agent(), on.id, age, doing(child.progress)) + awaited(child.progress) + howToWait(again))
	res.Meta = mcp.Meta{"sessionId": on.id, "status": session.Running, "durationMs": age.Milliseconds()}
	return res
}

func howToWait(args string) string {
	return fmt.Sprintf("To get the answer, call %s with %s, again if need be with what that answer says. It runs meanwhile: do other work first if there is some. %s stops it.",
		taskWaitName, args, taskStopName)
}

// awaited says which approvals are waited for.
func awaited(f *childProgress) string {
	var b strings.Builder
	for _, q := range f.since(0).questions {
		if q.unseen != "" {
			b.WriteString("It waits for approval: " + q.unseen + ". Tell the user to run that in a terminal.\n")
		}
	}
	return b.String()
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
	if err == nil {
		c.tell(in.SessionID)
	}
	if child != nil && errors.Is(err, taskt.ErrRunning) {
		return c.goesOn(req, waitedChild(child)), nil
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
