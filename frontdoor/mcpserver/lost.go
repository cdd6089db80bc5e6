package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/errtext"
)

// A call that its host gives up on is lost to the host's model: it has no
// session id of the child. The child goes on, and the next call says so.

// survives reports whether the children of a call that the host has cancelled
// go on, and for how long at most if no other call waits for them; 0 means until they
// end.
func (c *connection) survives(req *mcp.CallToolRequest) (grace time.Duration, lives bool) {
	switch {
	case c.ctx.Err() != nil: // the connection ends
		return 0, false
	case c.givenUp.Has(req):
		return 0, true
	case c.shared: // the next call may be another client's
		return 0, false
	}
	return c.grace, c.host(req.ClientInfo()).CancelsLate && c.grace > 0
}

// claim notes that a call waits for children, until what it returns is called.
func (c *connection) claim(children []*child) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range children {
		child.claims++
		child.waiting++
		child.lost = time.Time{}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, child := range children {
			child.waiting--
		}
	}
}

// lose lets children go on without a call that waits for them. With a grace
// they are stopped after it, unless another call has waited for them.
func (c *connection) lose(children []*child, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range children {
		child.lost = time.Now()
		if grace == 0 {
			continue
		}
		child.until = child.lost.Add(grace)
		claims := child.claims
		c.owned.Go(func() { c.endLost(child, claims, grace) })
	}
}

// endLost stops a child after a time, if no call has waited for it since it had
// so many claims.
func (c *connection) endLost(child *child, claims int, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-child.Done():
		return
	case <-timer.C:
	}
	c.mu.Lock()
	abandoned := child.claims == claims && child.waiting == 0
	c.mu.Unlock()
	if abandoned {
		child.Cancel(fmt.Sprintf("the host has cancelled the call, and no other one has waited for it within %s", errtext.Duration(grace)))
	}
}

// noting adds to the result of a call what has become of calls that were lost.
func (c *connection) noting(handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := handler(ctx, req)
		if b := begunBy(ctx); err != nil || res.RequestState != "" || ctx.Err() != nil || c.shared || b != nil && b.child != nil {
			return res, err
		}
		for _, note := range c.lostNotes() {
			res.Content = append(res.Content, &mcp.TextContent{Text: note})
		}
		return res, nil
	}
}

// lostNotes returns what a host's model is to know of lost children. It is told
// once.
func (c *connection) lostNotes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var notes []string
	for _, child := range c.inOrder() {
		if child.lost.IsZero() {
			continue
		}
		what := fmt.Sprintf("A call of %s was cut off. Its subagent %s goes on in session %s", taskName, child.Agent(), child.SessionID())
		if !child.until.IsZero() {
			what += ", until " + child.until.Local().Format(time.TimeOnly) + " if no call waits for it"
		}
		notes = append(notes, fmt.Sprintf(`%s: for its answer call %s with {"sessionId": %q}; to stop it, %s.`, what, taskWaitName, child.SessionID(), taskStopName))
		child.lost = time.Time{}
	}
	for _, e := range c.ended {
		if e.beside && !e.told {
			notes = append(notes, fmt.Sprintf(`The subagent %s in session %s, which ran in the background, has ended (%s): for its answer call %s with {"sessionId": %q}.`, e.agent, e.id, e.status, taskWaitName, e.id))
			e.beside, e.lost = false, false
		}
		if !e.lost || e.told {
			continue
		}
		notes = append(notes, fmt.Sprintf(`A call of %s was cut off. Its subagent %s has ended (%s): for its answer call %s with {"sessionId": %q}.`, taskName, e.agent, e.status, taskWaitName, e.id))
		e.lost = false
	}
	return notes
}
