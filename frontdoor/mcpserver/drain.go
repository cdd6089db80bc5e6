package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
)

// grace is how long the host may take to read the last results.
const grace = 5 * time.Second

// draining is a transport whose connections end in order. The SDK takes the
// end of the input for the end of the host: it drops the answers that are on
// their way. Here the end, of the input or of ctx, first cancels the calls and
// waits until all requests are answered; only then the SDK gets to see it.
type draining struct {
	mcp.Transport
	ctx         context.Context
	cancelCalls context.CancelFunc
	givenUp     *givenUp
	log         *slog.Logger
}

// Connect implements [mcp.Transport].
func (t *draining) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainingConn{Connection: conn, draining: t, pending: make(map[jsonrpc.ID]bool)}, nil
}

type drainingConn struct {
	mcp.Connection
	*draining

	mu      sync.Mutex
	pending map[jsonrpc.ID]bool // requests without an answer
	broken  bool                // the host does not read: the SDK writes no answers any more
	drained chan struct{}       // nil: not draining; closed: no answer is to come
}

// Read implements [mcp.Connection].
func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain()
		if c.ctx.Err() != nil {
			err = io.EOF // told to end: no error
		}
		return nil, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		c.note(req)
	}
	return msg, nil
}

// note takes a message of the host before the SDK gets to see it.
func (c *drainingConn) note(req *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case req.IsCall() && req.Method != mcphttp.Listen:
		c.pending[req.ID] = true
		c.givenUp.mark(req)
	case req.Method == "notifications/cancelled":
		c.givenUp.cancelled(req.Params, func(id jsonrpc.ID) bool { return c.pending[id] })
	}
}

// Write implements [mcp.Connection].
func (c *drainingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if res, ok := msg.(*jsonrpc.Response); ok {
		delete(c.pending, res.ID)
		c.givenUp.forget(res.ID)
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
	c.cancelCalls()
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
		c.log.Warn("the host did not take its last results", "within", grace)
		if err := c.Close(); err != nil {
			c.log.Debug("closing the connection", "err", err)
		}
	}
}
