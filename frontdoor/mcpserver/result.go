package mcpserver

import (
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

func failure(agent string, err error) *taskt.Result {
	return &taskt.Result{Agent: agent, Status: store.Failed, Text: errtext.Of(err), Err: err}
}

// taskResult is a result as hosts get it: all that the model is to read is in
// the text, since some show it nothing else and others structured content alone.
func taskResult(r *taskt.Result, limit hosts.Size) *mcp.CallToolResult {
	text, cut := truncateResult(r, limit)
	meta := mcp.Meta{"status": r.Status, "usage": r.Record.Usage, "durationMs": r.Duration.Milliseconds()}
	if r.SessionID != "" {
		meta["sessionId"] = r.SessionID
	}
	if r.Record.Model != "" {
		meta["model"] = r.Record.Model
	}
	if r.Record.Label != "" {
		meta["label"] = r.Record.Label
	}
	if r.Record.Metadata != nil {
		meta["metadata"] = r.Record.Metadata
	}
	if r.Record.Warnings != nil {
		meta["warnings"] = r.Record.Warnings
	}
	if r.Record.Worktree != nil {
		meta["worktree"] = r.Record.Worktree
	}
	if !r.Record.Work.IsZero() {
		meta["work"] = r.Record.Work
	}
	rep, notes := r.Assess()
	if rep != nil {
		meta["report"] = rep
	}
	if len(notes) > 0 {
		meta["notes"] = notes
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

// notHere explains why there is no result of a session.
func (c *connection) notHere(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: no call of task on this connection has that session id; of another one, 'worker sessions show' has it in a terminal", err)
	}
	return err
}

// patience is after what time a call has to be answered; 0 means there is none.
func (c *connection) patience(req *mcp.CallToolRequest) time.Duration {
	return c.host(req.ClientInfo()).Patience(req.Params.GetProgressToken() != nil)
}

// result is a child's result as the host of a request takes it.
func (c *connection) result(req *mcp.CallToolRequest, r *taskt.Result) *mcp.CallToolResult {
	return taskResult(r, c.host(req.ClientInfo()).Text)
}
