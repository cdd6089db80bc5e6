package mcpserver

import (
	"fmt"
	"time"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/internal/errtext"
)

// A host that gives up on a call cuts it off: the host's model does not learn the session
// id of the child. The child goes on, and the result of the next call mentions it.

// attach notes that a call waits for children, until release is called.
func (c *children) attach(to []*child) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range to {
		child.waits++
		child.waiting++
		child.cutOff = time.Time{}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, child := range to {
			child.waiting--
		}
	}
}

// detach lets children go on whose call was cut off. With a grace they are stopped after
// it, unless another call has waited for them.
func (c *children) detach(detached []*child, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range detached {
		child.cutOff = time.Now()
		if grace == 0 {
			continue
		}
		child.until = child.cutOff.Add(grace)
		waits := child.waits
		c.owned.Go(func() { c.expire(child, waits, grace) })
	}
}

// expire stops a child after a time, if no further call has waited for it.
func (c *children) expire(child *child, waits int, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-child.Done():
		return
	case <-timer.C:
	}
	c.mu.Lock()
	abandoned := child.waits == waits && child.waiting == 0
	c.mu.Unlock()
	if abandoned {
		child.Cancel(fmt.Sprintf("the host has cancelled the call, and no other one has waited for it within %s", errtext.Duration(grace)))
	}
}

// notices returns what a host's model has to learn of children whose calls were cut off,
// and of children in the background. Each notice is returned once.
func (c *children) notices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var notes []string
	for _, child := range c.inOrder() {
		if child.cutOff.IsZero() {
			continue
		}
		what := fmt.Sprintf("A call of %s was cut off. Its subagent %s goes on in session %s", toolcall.Task, child.Agent(), child.SessionID())
		if !child.until.IsZero() {
			what += ", until " + child.until.Local().Format(time.TimeOnly) + " if no call waits for it"
		}
		notes = append(notes, fmt.Sprintf(`%s: for its answer call %s with {"sessionId": %q}; to stop it, %s.`, what, toolcall.TaskWait, child.SessionID(), toolcall.TaskStop))
		child.cutOff = time.Time{}
	}
	for _, e := range c.ended {
		what := ""
		switch {
		case e.delivered:
			continue
		case e.background:
			what = fmt.Sprintf("The subagent %s in session %s, which ran in the background, has ended", e.agent, e.id)
		case e.cutOff:
			what = fmt.Sprintf("A call of %s was cut off. Its subagent %s has ended", toolcall.Task, e.agent)
		default:
			continue
		}
		notes = append(notes, fmt.Sprintf(`%s (%s): for its answer call %s with {"sessionId": %q}.`, what, e.status, toolcall.TaskWait, e.id))
		e.background, e.cutOff = false, false
	}
	return notes
}
