package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/session/record"
)

// A client that names the Tasks extension with a call of an agent is answered with a task
// at once: the session of the subagent. Its state is read from the store at each request,
// so that a client may come back to any worker.

// pollInterval is how often a client should ask how a task is doing.
const pollInterval = time.Second

// taskExtension serves the Tasks extension to a connection.
type taskExtension struct {
	*Server
	ctx      context.Context // of the connection
	root     *rootSession
	children *children
	asker    *asker
	sender   exttask.Sender

	mu       sync.Mutex
	asked    map[string]*taskQuestion // by the ids of questions
	askAgain chan struct{}            // closed when one of them is asked again
}

// taskOf returns the session of a task: one that a caller has started, whoever it was, or a
// primary agent. Its id is known to the client that was told it, and to who may read the store.
func (c *taskExtension) taskOf(ctx context.Context, meta mcp.Meta, id string) (*record.Record, error) {
	if !exttask.Declared(meta) {
		return nil, exttask.ErrUndeclared
	}
	r, err := c.opts.Sessions.Index.Get(ctx, id)
	if errors.Is(err, record.ErrNotFound) || errors.Is(err, record.ErrAmbiguous) || err == nil && (r.ID != id || r.Depth != 1) {
		return nil, exttask.NotFound(id)
	}
	return r, err
}

// workingTask is what is known of a task that has just begun.
func (c *taskExtension) workingTask(r *record.Record) *exttask.Task {
	task := &exttask.Task{
		ID: r.ID, Status: exttask.Working, PollInterval: pollInterval.Milliseconds(),
		CreatedAt: r.CreatedAt, LastUpdatedAt: cmp.Or(r.EndedAt, r.StartedAt, r.CreatedAt),
	}
	if c.opts.Kept > 0 {
		until := r.EndedAt
		if !r.Status.Ended() {
			until = time.Now()
		}
		ttl := (max(0, until.Sub(r.CreatedAt)) + c.opts.Kept).Milliseconds()
		task.TTL = &ttl
	}
	return task
}
