package transport

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
)

// These bound the requests of a host that wait for their answers. More requests are refused
// at once, while notifications and answers of the host get through. Nothing is read while
// the host does not read a refusal, so that a host that reads nothing is not read any more.
const (
	maxPending      = 10_000   // requests
	maxPendingBytes = 32 << 20 // of all of them; one may be larger
)

// These bound what is read besides requests from a host that does not read: the SDK keeps
// notifications until it has written the messages before them. A cancellation has to get
// through; the host goes on writing once it reads.
const (
	maxUnread   = 4 << 20 // bytes
	messageSize = 512     // of a message besides what it says, in memory
)

// grace is how long the host may take to read the last results.
const grace = 5 * time.Second

// Draining is a transport whose connections end in order. The SDK takes the
// end of the input for the end of the host: it drops the answers that are on
// their way. Here the end, of the input or of ctx, first cancels the calls and
// waits until all requests are answered; only then the SDK gets to see it.
type Draining struct {
	mcp.Transport
	Ctx         context.Context // the connections end with it
	CancelCalls context.CancelFunc
	GivenUp     *GivenUp
	Logger      *slog.Logger
}

// Connect implements [mcp.Transport].
func (t *Draining) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainingConn{Connection: conn, Draining: t, pending: make(map[jsonrpc.ID]int), accepted: make(chan struct{})}, nil
}

type drainingConn struct {
	mcp.Connection
	*Draining

	mu       sync.Mutex
	pending  map[jsonrpc.ID]int // requests without an answer, and their bytes
	bytes    int                // of all of them
	broken   bool               // the host does not read: the SDK writes no answers any more
	drained  chan struct{}      // nil means not draining; closed: no answer is to come
	writes   int                // on their way to the host
	unread   int                // bytes that were read of it since the host has taken one
	accepted chan struct{}      // closed when it takes one
}

// Read implements [mcp.Connection].
func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.Ctx, cancel)()
	msg, err := c.next(ctx)
	if err != nil {
		c.drain()
		if c.Ctx.Err() != nil {
			err = io.EOF // told to end: no error
		}
		return nil, err
	}
	return msg, nil
}

// next returns the next message that the SDK is to see.
func (c *drainingConn) next(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := c.awaitRead(ctx); err != nil {
			return nil, err
		}
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok {
			return msg, nil
		}
		why := c.note(req)
		if why == nil {
			return msg, nil
		}
		if err := c.Connection.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: why}); err != nil {
			return nil, err
		}
	}
}

// awaitRead waits while the host takes nothing, and too much was read of it meanwhile.
func (c *drainingConn) awaitRead(ctx context.Context) error {
	for {
		c.mu.Lock()
		accepted, full := c.accepted, c.writes > 0 && c.unread > maxUnread
		c.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-accepted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// note takes a message of the host before the SDK gets to see it, or says why it
// does not get to.
func (c *drainingConn) note(req *jsonrpc.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case req.IsCall() && req.Method != exttask.Listen:
		size := bytesOf(req)
		had, used := c.pending[req.ID] // the SDK drops one whose id is in use
		if n := len(c.pending); !used && n >= maxPending || n > 0 && c.bytes-had+size > maxPendingBytes {
			return &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf("%d requests wait for their answers: send more when some are answered", n)}
		}
		c.pending[req.ID] = size
		c.bytes += size - had
		c.GivenUp.Mark(req)
	case req.Method == exttask.Listen:
		req.Params = exttask.KeepIDs(req.Params)
	case req.Method == "notifications/cancelled":
		c.GivenUp.Cancelled(req.Params, func(id jsonrpc.ID) bool { _, known := c.pending[id]; return known })
	}
	if _, counted := c.pending[req.ID]; c.writes > 0 && !counted {
		c.unread += bytesOf(req) + messageSize
	}
	return nil
}

// bytesOf is how much of a host's choice a message has.
func bytesOf(req *jsonrpc.Request) int {
	id, _ := req.ID.Raw().(string) // else a number, or none
	return len(id) + len(req.Method) + len(req.Params)
}

// codeBusy is among the codes that JSON-RPC leaves to servers.
const codeBusy = -32000

// Write implements [mcp.Connection].
func (c *drainingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	c.mu.Lock()
	c.writes++
	c.mu.Unlock()
	exttask.Rename(msg)
	err := c.Connection.Write(ctx, msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes--
	c.unread = 0
	close(c.accepted)
	c.accepted = make(chan struct{})
	if res, ok := msg.(*jsonrpc.Response); ok {
		c.bytes -= c.pending[res.ID]
		delete(c.pending, res.ID)
		c.GivenUp.Forget(Key(res.ID))
	}
	c.broken = c.broken || err != nil && ctx.Err() == nil
	if c.drained != nil && c.idle() {
		close(c.drained)
		c.drained = nil
	}
	return err
}

// idle reports whether no answer is to come.
func (c *drainingConn) idle() bool { return c.broken || len(c.pending) == 0 }

// drain cancels the calls and waits until their results are written. A host
// that does not read them is cut off, so that no write blocks for ever.
func (c *drainingConn) drain() {
	c.CancelCalls()
	c.mu.Lock()
	if c.idle() {
		c.mu.Unlock()
		return
	}
	drained := make(chan struct{})
	c.drained = drained
	c.mu.Unlock()
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-drained:
	case <-limit.C:
		c.Logger.Warn("the host did not take its last results", "within", grace)
		if err := c.Close(); err != nil {
			c.Logger.Debug("closing the connection", "err", err)
		}
	}
}
