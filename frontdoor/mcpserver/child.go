package mcpserver

import (
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

// child is a child of the connection that runs. It goes on when a call that
// waits for it is answered before its end.
type child struct {
	*taskt.Run
	begun    time.Time
	progress *childProgress

	// The rest is guarded by the mutex of the connection.

	attempts int       // calls that were answered without its result
	claims   int       // calls that have waited for it
	waiting  int       // those that do
	told     bool      // its answer was the result of a call
	lost     time.Time // when a call was cut off that has waited for it; zero: none was, or the model knows
	until    time.Time // when it is stopped if no call waits for it; zero: never
}

// age is how long the child has been there, in whole seconds.
func (c *child) age() time.Duration { return time.Since(c.begun).Round(time.Second) }

// start begins a call of task in the connection's root session. A root that
// another process has ended is replaced by a new one. A result is that of a
// call which has ended without a child.
func (c *connection) start(client *mcp.Implementation, in taskt.Input) (*child, *taskt.Result) {
	root, err := c.caller(client)
	if err != nil {
		return nil, failure(in.AgentType, err)
	}
	c.starts.RLock()
	defer c.starts.RUnlock()
	run := c.tasks.Start(c.ctx, root, in)
	if run.SessionID() == "" && errors.Is(run.Result().Err, session.ErrEnded) && root.Record().Status.Ended() {
		if root, err = c.caller(client); err != nil {
			return nil, failure(in.AgentType, err)
		}
		run = c.tasks.Start(c.ctx, root, in)
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

// running returns a child that runs; nil: there is none of that id.
func (c *connection) running(sessionID string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.children[sessionID]
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
	c.mu.Lock()
	roots := c.roots
	c.mu.Unlock()
	err := error(&session.NotFoundError{What: "session", ID: sessionID})
	for _, root := range roots {
		var result *taskt.Result
		if result, err = c.tasks.Result(c.ctx, root, sessionID); !errors.Is(err, session.ErrNotFound) {
			return result, err
		}
	}
	return nil, err
}
