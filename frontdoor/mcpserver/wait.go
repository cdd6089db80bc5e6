package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/taskt"
)

// outcome waits for a child of the connection that runs, or reads the result of
// one that has ended. The empty id stands for all children.
func (c *connection) outcome(ctx context.Context, req *mcp.CallToolRequest, sessionID string, w wait) *mcp.CallToolResult {
	if sessionID == "" {
		return c.outcomeOfAll(ctx, req, w)
	}
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
		_, w.heard = child.progress.last()
		return c.await(ctx, req, waitedChild(child), w)
	}
	if err != nil {
		return refusal(c.notHere(sessionID, err))
	}
	c.tell(sessionID)
	return c.result(req, result)
}

// wait is how a call waits for its child.
type wait struct {
	limit  time.Duration   // then it is answered without a result; 0: never
	asked  map[string]bool // the questions that its host was asked before
	unseen map[string]bool // those of them that its user does not answer
	round  int             // how often it was answered with questions
	heard  int             // messages of the child's progress that the host has heard
}

// waited is what a call waits for.
type waited struct {
	id       string // of the one child; empty: all that run
	children []*child
	progress *childProgress
	done     <-chan struct{} // closed: all of them have ended
	leave    func()          // ends what waitedAll has begun
}

func waitedChild(one *child) *waited {
	return &waited{id: one.SessionID(), children: []*child{one}, progress: one.progress, done: one.Done(), leave: func() {}}
}

// waitedAll is several children, waited for as one.
func waitedAll(children []*child) *waited {
	parts := make([]*childProgress, 0, len(children))
	for _, child := range children {
		parts = append(parts, child.progress)
	}
	joined, part := join(parts)
	done, left := make(chan struct{}), make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, child := range children {
			select {
			case <-child.Done():
			case <-left:
				return
			}
		}
		close(done)
	}()
	leave := func() {
		close(left)
		<-over
		part()
	}
	return &waited{children: children, progress: joined, done: done, leave: leave}
}

// stop ends the children and returns when they have.
func (on *waited) stop(reason string) {
	for _, child := range on.children {
		child.Cancel(reason)
	}
	<-on.done
}

// await returns the result once there is one. Before that a call is answered
// when its time has passed, when an approval has waited for a while that its
// user can't see, and with what the host is to be asked. A call that the host
// cancels stops the child, unless the host has but given up on waiting.
func (c *connection) await(ctx context.Context, req *mcp.CallToolRequest, on *waited, w wait) *mcp.CallToolResult {
	defer on.leave()
	defer c.claim(on.children)()
	defer c.report(ctx, req, on, w.heard)()
	elicit := c.newElicitation(ctx, req, w)
	defer elicit.stop()
	var late <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		now := on.progress.since(w.heard)
		if questions := elicit.put(now.questions); questions != nil {
			if asked := c.pose(ctx, on, elicit, questions); asked != nil {
				return asked
			}
		}
		if elicit.spent(now.questions) {
			return c.goesOn(req, on)
		}
		hidden, notSeen := c.handover(elicit.hidden(now.questions))
		select {
		case <-on.done:
			return c.results(req, on)
		case <-late:
			return c.goesOn(req, on)
		case <-notSeen:
			c.handOver(hidden)
			return c.goesOn(req, on)
		case <-now.changed:
		case <-elicit.news:
		case <-ctx.Done():
			if grace, lives := c.survives(req); lives {
				c.lose(on.children, grace)
				return c.goesOn(req, on)
			}
			on.stop("the host has cancelled the call")
			return c.results(req, on)
		}
	}
}

// handover returns those of the questions with which no call was answered yet,
// and when it is time to answer one with them.
func (c *connection) handover(hidden []*question) (fresh []*question, due <-chan time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range hidden {
		if !c.handed[q.id] {
			fresh = append(fresh, q)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	return fresh, time.After(time.Until(fresh[0].since.Add(c.unseen)))
}

// handOver notes that a call is answered with questions which its user can't
// see: one that is made after that waits on.
func (c *connection) handOver(questions []*question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range questions {
		c.handed[q.id] = true
	}
}

// results is what a call is answered with when all that it waits for has ended.
func (c *connection) results(req *mcp.CallToolRequest, on *waited) *mcp.CallToolResult {
	if on.id == "" {
		return c.listChildren(req)
	}
	c.tell(on.id)
	return c.result(req, on.children[0].Result())
}
