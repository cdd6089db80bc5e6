package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

const (
	// maxEnded is how many children that have ended a connection can list.
	maxEnded = 20

	// minShare is, in characters, the least of an answer that is worth a place in
	// a list.
	minShare = 500
)

// ended is a child that has ended.
type ended struct {
	id, agent string
	status    session.Status
	told      bool // its answer was the result of a call
	lost      bool // a call was cut off, and no other one has said so
}

// errShared is why a call has to name a session.
var errShared = errors.New("sessionId is needed: over this connection clients share a session, and none may touch what another one has called")

// inOrder returns the children that run, the oldest first. c.mu is held.
func (c *connection) inOrder() []*child {
	children := make([]*child, 0, len(c.children))
	for _, child := range c.children {
		children = append(children, child)
	}
	slices.SortFunc(children, func(a, b *child) int {
		return cmp.Or(a.begun.Compare(b.begun), strings.Compare(a.SessionID(), b.SessionID()))
	})
	return children
}

// family returns the children that run, and copies of those that have ended
// whose answer was the result of no call; with all, of all that are remembered.
func (c *connection) family(all bool) (running []*child, over []ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.ended {
		if all || !e.told {
			over = append(over, *e)
		}
	}
	return c.inOrder(), over
}

// tell notes that a call's result is the answer of a child.
func (c *connection) tell(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.children[sessionID]; child != nil {
		child.told = true
	}
	for _, e := range c.ended {
		if e.id == sessionID {
			e.told = true
		}
	}
}

// retire moves a child that has ended to those that have.
func (c *connection) retire(child *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := child.SessionID()
	delete(c.children, id)
	c.settle(id)
	if len(c.children) == 0 {
		clear(c.handed)
	}
	c.ended = append(c.ended, &ended{id, child.Agent(), child.Result().Status, child.told, !child.lost.IsZero()})
	if len(c.ended) > maxEnded {
		c.ended = slices.Delete(c.ended, 0, 1)
	}
}

// outcomeOfAll waits for all children of the connection, and lists them.
func (c *connection) outcomeOfAll(ctx context.Context, req *mcp.CallToolRequest, w wait) *mcp.CallToolResult {
	if c.shared {
		return refusal(errShared)
	}
	running, over := c.family(false)
	switch {
	case len(running) == 1 && len(over) == 0:
		return c.outcome(ctx, req, running[0].SessionID(), w)
	case len(running) == 0 && len(over) == 1:
		return c.outcome(ctx, req, over[0].id, w)
	case len(running) == 0:
		return c.listChildren(req)
	}
	return c.await(ctx, req, waitedAll(running), w)
}

// listChildren lists the children that run, and those that have ended with their
// answers, unless a call had these for its result.
func (c *connection) listChildren(req *mcp.CallToolRequest) *mcp.CallToolResult {
	running, over := c.family(false)
	if len(running)+len(over) == 0 {
		if _, over = c.family(true); len(over) == 0 {
			return textResult("No call of " + taskName + " was made on this connection.")
		}
	}
	limit := c.host(req.ClientInfo()).text
	if limit.max > 0 {
		limit.max = limit.max/(len(running)+len(over)) - 200 // for its line
	}
	var list, answers strings.Builder
	fmt.Fprintf(&list, "%d subagents run, %d have ended:\n", len(running), len(over))
	for _, child := range running {
		fmt.Fprintf(&list, "- %s, session %s: runs, for %s%s\n", child.Agent(), child.SessionID(), child.age(), doing(child.progress))
	}
	for _, e := range over {
		line := fmt.Sprintf("- %s, session %s: %s", e.agent, e.id, e.status)
		result, err := c.stored(e.id)
		switch {
		case err != nil:
			line += "; " + err.Error()
		case e.told || limit.max != 0 && limit.max < minShare:
			line += fmt.Sprintf("; %s has its answer", taskResultName)
		default:
			text, _ := truncateResult(result, limit)
			answers.WriteString(text + "\n")
			line += "; its answer is below"
			c.tell(e.id)
		}
		list.WriteString(line + "\n")
	}
	return textResult(strings.TrimSpace(list.String() + answers.String()))
}

// doing says what was heard of a child last.
func doing(f *childProgress) string {
	if last, _ := f.last(); last != "" {
		return ". Just now: " + last + "."
	}
	return "."
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
