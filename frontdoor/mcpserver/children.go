package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// running returns a child that runs, or that goes on with it; nil means there is none of
// that id.
func (c *connection) running(sessionID string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.children[sessionID]; child != nil {
		return child
	}
	for id, child := range c.children {
		if store.SameRuns(id, sessionID) {
			return child
		}
	}
	return nil
}

// begun is running for a child that the store has as one that runs: it may be
// about to be known here.
func (c *connection) begun(sessionID string) *child {
	c.starts.Lock()
	defer c.starts.Unlock()
	return c.running(sessionID)
}

// stored returns the result of a child of this connection that has ended.
func (c *connection) stored(sessionID string) (*taskt.Result, error) {
	return c.tasks.Control().Result(c.ctx, c.scope(control.Find(taskResultName)), sessionID)
}

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

// hand notes that a call's result is that of a child.
func (c *connection) hand(ctx context.Context, result *taskt.Result) {
	c.tell(result.SessionID)
	if err := c.tasks.Control().NoteRead(context.WithoutCancel(ctx), &result.Record); err != nil {
		c.log.Warn("a session is not deleted", "session", result.SessionID, "err", err)
	}
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
