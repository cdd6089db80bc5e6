package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// child is a child of the connection that runs. It goes on when a call that
// waits for it is answered before its end.
type child struct {
	*taskt.Run
	begun    time.Time
	progress *childProgress
	attempts atomic.Int32 // calls that were answered without its result

	// The rest is guarded by children.mu.

	waits     int       // calls that have waited for it
	waiting   int       // those that do now
	delivered bool      // its answer was the result of a call
	cutOff    time.Time // when a call that waited for it was cut off; zero means none was, or the model knows
	until     time.Time // when it is stopped if no call waits for it; zero means never
}

// age is how long the child has been there, in full seconds.
func (c *child) age() time.Duration { return time.Since(c.begun).Round(time.Second) }

// endedChild is a child that has ended.
type endedChild struct {
	id, agent  string
	status     record.Status
	delivered  bool // its answer was the result of a call
	cutOff     bool // a call was cut off, and the model has not read so yet
	background bool // it ran in the background, and the model has not read yet that it has ended
}

// children are those of a connection: all that run, and the last that have ended.
type children struct {
	*Server
	root     *rootSession
	progress *progressTracker
	onEnd    func(sessionID string, last bool) // called for each that ends; last: no other one runs
	owned    sync.WaitGroup                    // what runs for them

	attempts atomic.Int32 // calls for several that were answered without a result

	starting sync.RWMutex // read-locked while a child is opened and not yet in running

	mu      sync.Mutex
	running map[string]*child // by session id
	ended   []*endedChild     // the oldest first
}

// start begins a call of task in the root session. It returns a result if the call has
// ended without a child.
func (c *children) start(client *mcp.Implementation, in taskt.Input) (*child, *taskt.Result) {
	return c.begin(client, in.AgentType, func(root *session.Session) *taskt.Run { return c.opts.Tasks.Start(c.root.ctx, root, in) })
}

// resume has a child that has ended continue, and returns the id of the session in which
// it does.
func (c *children) resume(client *mcp.Implementation, r control.Resumption) (string, error) {
	child, result := c.begin(client, r.Record.Agent, func(root *session.Session) *taskt.Run { return c.opts.Tasks.Resume(c.root.ctx, root, r) })
	if child == nil {
		return "", result.Err
	}
	return child.SessionID(), nil
}

// begin begins a child in the root session, and once more in a new one if another process
// has ended that.
func (c *children) begin(client *mcp.Implementation, agent string, start func(root *session.Session) *taskt.Run) (*child, *taskt.Result) {
	root, err := c.root.open(client)
	if err != nil {
		return nil, toolcall.Failure(agent, err)
	}
	c.starting.RLock()
	defer c.starting.RUnlock()
	run := start(root)
	if run.SessionID() == "" && errors.Is(run.Result().Err, record.ErrEnded) && root.Record().Status.Ended() {
		if root, err = c.root.open(client); err != nil {
			return nil, toolcall.Failure(agent, err)
		}
		run = start(root)
	}
	id := run.SessionID()
	if id == "" {
		return nil, run.Result()
	}
	child := &child{Run: run, begun: time.Now(), progress: c.progress.of(id)}
	c.mu.Lock()
	c.running[id] = child
	c.mu.Unlock()
	c.owned.Go(func() {
		<-run.Done()
		c.onEnd(id, c.retire(child))
		c.progress.forget(id)
	})
	return child, nil
}

// maxEnded is how many children that have ended a connection can list.
const maxEnded = 20

// retire moves a child from running to ended, and reports whether it was the last that ran.
func (c *children) retire(child *child) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := child.SessionID()
	delete(c.running, id)
	c.ended = append(c.ended, &endedChild{id, child.Agent(), child.Result().Status, child.delivered, !child.cutOff.IsZero(), child.Accepted() != nil})
	if len(c.ended) > maxEnded {
		c.ended = slices.Delete(c.ended, 0, 1)
	}
	return len(c.running) == 0
}

// get returns the child of an id that runs here; nil means none does.
func (c *children) get(sessionID string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[sessionID]
}

// working reports whether children run.
func (c *children) working() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running) > 0
}

// find returns a child that runs with an id, or that continues the session of the id; nil
// means there is none.
func (c *children) find(sessionID string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.running[sessionID]; child != nil {
		return child
	}
	for id, child := range c.running {
		if record.SameConversation(id, sessionID) {
			return child
		}
	}
	return nil
}

// result returns the stored result of a child of this connection that has ended.
func (c *children) result(sessionID string) (*taskt.Result, error) {
	return c.opts.Tasks.Control().Result(c.root.ctx, c.root.scope(control.Find(toolcall.TaskResult)), sessionID)
}

// known returns a child that runs, or the result of one that has ended.
func (c *children) known(sessionID string) (child *child, result *taskt.Result, err error) {
	if child = c.find(sessionID); child != nil {
		return child, nil, nil
	}
	if result, err = c.result(sessionID); errors.Is(err, control.ErrRunning) {
		c.starting.Lock() // it may be about to be known here
		child = c.find(sessionID)
		c.starting.Unlock()
		if child != nil {
			return child, nil, nil
		}
	}
	return nil, result, err
}

// inOrder returns the children that run, the oldest first. c.mu is held.
func (c *children) inOrder() []*child {
	running := make([]*child, 0, len(c.running))
	for _, child := range c.running {
		running = append(running, child)
	}
	slices.SortFunc(running, func(a, b *child) int {
		return cmp.Or(a.begun.Compare(b.begun), strings.Compare(a.SessionID(), b.SessionID()))
	})
	return running
}

// list returns the children that run, and copies of the ended ones whose answers no call
// has delivered. all: of all ended ones.
func (c *children) list(all bool) (running []*child, over []endedChild) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.ended {
		if all || !e.delivered {
			over = append(over, *e)
		}
	}
	return c.inOrder(), over
}

// deliver notes that a call returns the result of a child.
func (c *children) deliver(ctx context.Context, result *taskt.Result) {
	c.markDelivered(result.SessionID)
	if err := c.opts.Tasks.Control().NoteRead(context.WithoutCancel(ctx), &result.Record); err != nil {
		c.opts.Logger.Warn("a session is not deleted", "session", result.SessionID, "err", err)
	}
}

// markDelivered notes that the model does not have to be pointed to a child's answer.
func (c *children) markDelivered(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.running[sessionID]; child != nil {
		child.delivered = true
	}
	for _, e := range c.ended {
		if e.id == sessionID {
			e.delivered = true
		}
	}
}
