package mcpserver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// caller returns the root session. The first call opens it, in the name of the
// client, and follows its stream; where it has ended, the next call opens
// another one.
func (c *connection) caller(client *mcp.Implementation) (*session.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil && !c.root.Record().Status.Ended() {
		return c.root, nil
	}
	c.client = c.identity.By(describeClient(client))
	var model session.Model
	if c.hostModel != nil {
		model = c.hostModel(c.sample)
	}
	root, err := c.tasks.OpenCallerOn(c.ctx, c.client, c.identity.Person(), model)
	if err != nil {
		return nil, fmt.Errorf("opening a session for the host: %w", err)
	}
	c.root = root
	c.roots = append(slices.Clip(c.roots), root.ID())
	c.owned.Go(func() { c.follow(root.Path()) })
	return root, nil
}

// follow hands the events of a root's stream to the progress of its children. If it
// fails the calls go on, and their progress tells the time alone.
func (c *connection) follow(path event.Path) {
	for d, err := range c.bus.Follow(c.ctx, path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			if c.ctx.Err() == nil {
				c.log.Warn("following the host's session for progress", "err", err)
			}
			return
		}
		if f, required := c.progress.event(d); required != nil && c.sessions != nil {
			f.ask(c.approval(required))
		}
	}
}

// start begins a call of task in the connection's root session. A result is that of
// a call which has ended without a child.
func (c *connection) start(client *mcp.Implementation, in taskt.Input) (*child, *taskt.Result) {
	return c.begin(client, in.AgentType, func(root *session.Session) *taskt.Run { return c.tasks.Start(c.ctx, root, in) })
}

// goOn has a child that has ended go on, and returns the id of the session in which
// it does.
func (c *connection) goOn(client *mcp.Implementation, r control.Resumption) (string, error) {
	child, result := c.begin(client, r.Record.Agent, func(root *session.Session) *taskt.Run { return c.tasks.Resume(c.ctx, root, r) })
	if child == nil {
		return "", result.Err
	}
	return child.SessionID(), nil
}

// begin begins a child in the connection's root session. A root that another process
// has ended is replaced by a new one.
func (c *connection) begin(client *mcp.Implementation, agent string, start func(root *session.Session) *taskt.Run) (*child, *taskt.Result) {
	root, err := c.caller(client)
	if err != nil {
		return nil, failure(agent, err)
	}
	c.starts.RLock()
	defer c.starts.RUnlock()
	run := start(root)
	if run.SessionID() == "" && errors.Is(run.Result().Err, store.ErrEnded) && root.Record().Status.Ended() {
		if root, err = c.caller(client); err != nil {
			return nil, failure(agent, err)
		}
		run = start(root)
	}
	id := run.SessionID()
	if id == "" {
		return nil, run.Result()
	}
	child := &child{Run: run, begun: time.Now(), progress: c.progress.of(id)}
	c.mu.Lock()
	c.children[id] = child
	c.mu.Unlock()
	c.owned.Go(func() {
		<-run.Done()
		c.retire(child)
		c.progress.forget(id)
	})
	return child, nil
}

// maxEnded is how many children that have ended a connection can list.
const maxEnded = 20

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
	c.ended = append(c.ended, &ended{id, child.Agent(), child.Result().Status, child.told, !child.lost.IsZero(), child.Accepted() != nil})
	if len(c.ended) > maxEnded {
		c.ended = slices.Delete(c.ended, 0, 1)
	}
}
