package mcpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is a connection over HTTP: the requests that belong together.
type client struct {
	*connection
	mcp  *mcp.Server
	gone context.Context // ends what listens, when nothing more will come
	drop context.CancelFunc
	open sync.WaitGroup // requests

	// The rest is guarded by the mutex of HTTP.

	key      string             // empty: its session has not begun
	session  *mcp.ServerSession // nil: none has begun, or there are none
	requests int                // that are open
	calls    map[string]bool    // that run, by their marks
	busy     int                // requests that want an answer, and calls that run whether somebody waits or not
	last     time.Time          // when something ended
	closing  bool               // it takes no more requests
	quiet    chan struct{}      // closed when it is closing, and not busy
	still    sync.Once          // closes quiet
}

// newClient makes a client, which stop has to end. shared: see [connection].
func (h *HTTP) newClient(shared bool) *client {
	c := newConnection(h.ctx, h.server)
	c.shared = shared
	client := &client{connection: c, mcp: c.server(), calls: make(map[string]bool), quiet: make(chan struct{}), last: time.Now()}
	client.gone, client.drop = context.WithCancel(context.Background())
	c.owned.Go(func() { c.announce(client.mcp) })
	c.owned.Go(c.prompts)
	client.mcp.AddReceivingMiddleware(h.counted(client))
	return client
}

// counted is middleware that counts what runs for a client, and learns of the
// beginning of its session.
func (h *HTTP) counted(client *client) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if session, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" && session.ID() != "" {
				h.begin(client, session)
			}
			if method == parked {
				return next(ctx, method, req)
			}
			h.count(client, 1)
			defer h.count(client, -1)
			if call, ok := req.(*mcp.CallToolRequest); ok {
				defer h.callRuns(client, call)()
			}
			return next(ctx, method, req)
		}
	}
}

// callRuns notes that a call runs until what it returns is called.
func (h *HTTP) callRuns(client *client, call *mcp.CallToolRequest) (end func()) {
	mark, _ := call.Params.Meta[callMark].(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	client.calls[mark] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(client.calls, mark)
		client.givenUp.drop(mark)
	}
}

// note takes a message of a session's client before the SDK gets to see it, as
// a connection does that is no HTTP.
func (h *HTTP) note(client *client, body []byte) []byte {
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok {
		return body // an answer, or for the SDK to refuse
	}
	switch {
	case req.Method == "notifications/cancelled":
		client.givenUp.cancelled(req.Params, func(id jsonrpc.ID) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return client.calls[key(id)]
		})
	case req.IsCall():
		client.givenUp.mark(req)
		if marked, err := jsonrpc.EncodeMessage(req); err == nil {
			return marked
		}
	}
	return body
}

// begin files a client under the id of its session, which its client is about to
// learn, and waits for the session's end.
func (h *HTTP) begin(client *client, session *mcp.ServerSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if client.session != nil {
		return
	}
	client.session, client.key = session, session.ID()
	if !client.closing {
		h.keys[client.key] = client
	}
	h.ending.Go(func() {
		// How it ended is nothing that the root session's end has to tell.
		_ = session.Wait()
		h.stop(client)
	})
}

// count notes that something begins for a client, or ends.
func (h *HTTP) count(client *client, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	client.busy += n
	client.last = time.Now()
	client.hush()
}

// hush lets finish go on where nothing is left to be answered. The mutex of
// HTTP is held.
func (client *client) hush() {
	if client.closing && client.busy == 0 {
		client.still.Do(func() { close(client.quiet) })
	}
}

// known returns the client of a session for a request. Leave it.
func (h *HTTP) known(key string, busy int) (*client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	client := h.keys[key]
	if client == nil || client.session == nil {
		return nil, &httpError{http.StatusNotFound, "there is no such session, or it has ended: begin a new one with initialize"}
	}
	return client, h.enter(client, busy)
}

// made returns the client of a key for a request, which it makes where there is
// none; the empty key is of none that is there. Leave it.
func (h *HTTP) made(key string, busy int) (*client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if client := h.keys[key]; client != nil {
		return client, h.enter(client, busy)
	}
	if h.shut {
		return nil, &httpError{http.StatusServiceUnavailable, "this worker is shutting down"}
	}
	if len(h.clients) >= h.opts.Clients {
		oldest := h.oldestIdle()
		if oldest == nil {
			return nil, &httpError{http.StatusServiceUnavailable, "as many clients as can be are connected, and all of them work: try again later"}
		}
		h.stopSoon(oldest)
	}
	client := h.newClient(key != "")
	h.clients[client] = true
	if key != "" {
		client.key = key
		h.keys[key] = client
	}
	return client, h.enter(client, busy)
}

// cutOff has the answer to a request broken off when the client's session is
// over, should the client not read it, until stay is called.
func (client *client) cutOff(w http.ResponseWriter) (stay func()) {
	stop := context.AfterFunc(client.gone, func() {
		// An answer that has no deadlines is nobody's to break off.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	})
	return func() { stop() }
}

// enter lets a request to a client. h.mu is held.
func (h *HTTP) enter(client *client, busy int) error {
	switch {
	case client.closing:
		return &httpError{http.StatusNotFound, "the session is ending: begin a new one with initialize"}
	case client.requests >= h.opts.Requests:
		return &httpError{http.StatusTooManyRequests, "too many requests of this session are open: try again when some are answered"}
	}
	client.open.Add(1)
	client.requests++
	client.busy += busy
	return nil
}

// leave ends what enter began.
func (h *HTTP) leave(client *client, busy int) {
	h.mu.Lock()
	client.requests--
	h.mu.Unlock()
	h.count(client, -busy)
	client.open.Done()
}

// begun reports whether a client's session has begun.
func (h *HTTP) begun(client *client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return client.key != ""
}

// idle reports whether nothing is done for a client, nor waited for. h.mu is
// held.
func (client *client) idle() bool {
	return !client.closing && client.requests == 0 && client.busy == 0 && !client.works()
}

// works reports whether children run, which may go on when their calls are
// answered.
func (c *connection) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.children) > 0
}

// oldestIdle returns the client that has been idle the longest; nil: none is.
// h.mu is held.
func (h *HTTP) oldestIdle() *client {
	var oldest *client
	for client := range h.clients {
		if client.idle() && (oldest == nil || client.last.Before(oldest.last)) {
			oldest = client
		}
	}
	return oldest
}

// endIdle ends the clients that have been idle for too long, until Close.
func (h *HTTP) endIdle() {
	look := time.NewTicker(max(h.opts.Idle/8, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-look.C:
		}
		h.mu.Lock()
		for client := range h.clients {
			if client.idle() && time.Since(client.last) >= h.opts.Idle {
				h.stopSoon(client)
			}
		}
		h.mu.Unlock()
	}
}

// stopSoon ends a client beside what the caller does. h.mu is held.
func (h *HTTP) stopSoon(client *client) {
	if h.closeClient(client) {
		h.ending.Go(func() { h.finish(client) })
	}
}

// stop ends a client, and returns when that is done or somebody else does it.
func (h *HTTP) stop(client *client) {
	h.mu.Lock()
	first := h.closeClient(client)
	if first {
		h.ending.Add(1) // Close waits for this one too
	}
	h.mu.Unlock()
	if first {
		defer h.ending.Done()
		h.finish(client)
	}
}

// closeClient has a client take no more requests, and reports whether it did until
// now. h.mu is held.
func (h *HTTP) closeClient(client *client) bool {
	if client.closing {
		return false
	}
	client.closing = true
	client.hush()
	if h.keys[client.key] == client {
		delete(h.keys, client.key)
	}
	delete(h.clients, client)
	return true
}

// finish cancels what runs for a client, lets it be answered, and ends its
// session.
func (h *HTTP) finish(client *client) {
	client.connection.cancel()
	limit := time.NewTimer(h.opts.Grace)
	defer limit.Stop()
	select {
	case <-client.quiet:
	case <-limit.C:
		h.server.log.Warn("the client did not take its last results", "within", h.opts.Grace)
	}
	client.drop()
	h.closeSession(client)
	client.open.Wait()
	h.closeSession(client) // should it have begun meanwhile
	if err := client.close(); err != nil {
		h.server.log.Error("ending a client over HTTP", "err", err)
	}
}

func (h *HTTP) closeSession(client *client) {
	h.mu.Lock()
	session := client.session
	h.mu.Unlock()
	if session != nil {
		// It has no connection that could fail to close.
		_ = session.Close()
	}
}

// Close takes no more requests, cancels the calls, lets them be answered, and
// returns when the sessions of all clients have ended.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.shut = true
	for client := range h.clients {
		h.stopSoon(client)
	}
	h.mu.Unlock()
	h.cancel()
	h.ending.Wait()
}
