package mcphttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// client is one client, with its open requests.
type client struct {
	Client
	ended context.Context // ends the requests that listen, at the client's end
	drop  context.CancelFunc
	open  sync.WaitGroup // requests

	// Handler.mu guards the rest.

	key      string             // empty means its session has not begun
	session  *mcp.ServerSession // nil means no session has begun, or the protocol has none
	requests int                // open ones
	calls    map[string]bool    // running ones, by transport.MarkOf
	busy     int                // requests without an answer, and running calls whether or not a request waits
	last     time.Time          // of the latest begin or end
	closing  bool               // it takes no more requests
	quiet    chan struct{}      // closed once it is closing and not busy
	still    sync.Once          // closes quiet
}

// newClient makes a client, which stop has to end. shared: see [Backend].
func (h *Handler) newClient(shared bool) *client {
	client := &client{Client: h.backend.Open(h.ctx, shared), calls: make(map[string]bool), quiet: make(chan struct{}), last: time.Now()}
	client.ended, client.drop = context.WithCancel(context.Background())
	client.MCP().AddReceivingMiddleware(h.counted(client))
	return client
}

// counted is middleware that counts what runs for a client and notes when its
// session begins.
func (h *Handler) counted(client *client) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if session, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" && session.ID() != "" {
				h.begin(client, session)
			}
			if method == exttask.Listen {
				return next(ctx, method, req)
			}
			h.count(client, 1)
			defer h.count(client, -1)
			if call, ok := req.(*mcp.CallToolRequest); ok {
				defer h.callRuns(client, call)()
			}
			res, err := next(ctx, method, req)
			if err == nil {
				h.handles.give(res)
			}
			return res, err
		}
	}
}

// callRuns notes that a call runs, until end is called.
func (h *Handler) callRuns(client *client, call *mcp.CallToolRequest) (end func()) {
	id, size := transport.MarkOf(call), len(call.Params.Arguments)
	h.mu.Lock()
	defer h.mu.Unlock()
	client.calls[id] = true
	h.bytes += size
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(client.calls, id)
		h.bytes -= size
		client.GivenUp().Forget(id)
	}
}

// note takes a message of a session before the SDK sees it, and returns the
// message for the SDK. It refuses one call too many: calls go on when nobody waits for
// them.
func (h *Handler) note(client *client, body []byte) ([]byte, error) {
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok {
		return body, nil // a response, or invalid: the SDK refuses it
	}
	switch {
	case req.Method == "tools/call" && h.full(client):
		return nil, &httpError{status: http.StatusTooManyRequests, message: "too many calls of this session run: try again when some have ended"}
	case req.Method == "notifications/cancelled":
		client.GivenUp().Cancelled(req.Params, func(id jsonrpc.ID) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return client.calls[transport.Key(id)]
		})
	case req.IsCall():
		client.GivenUp().Mark(req)
		if marked, err := jsonrpc.EncodeMessage(req); err == nil {
			return marked, nil
		}
	}
	return body, nil
}

// full reports whether a client has as many calls as may run at once.
func (h *Handler) full(client *client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(client.calls) >= h.opts.Calls
}

// begin files a client under the id of its new session, and stops it at the
// session's end.
func (h *Handler) begin(client *client, session *mcp.ServerSession) {
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
		// The root session ends the same way, whatever the error.
		_ = session.Wait()
		h.stop(client)
	})
}

// count adds n to what a client is busy with.
func (h *Handler) count(client *client, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	client.busy += n
	client.last = time.Now()
	client.hush()
}

// hush lets finish go on once nothing is left to answer. Handler.mu is held.
func (client *client) hush() {
	if client.closing && client.busy == 0 {
		client.still.Do(func() { close(client.quiet) })
	}
}

// known returns the client of a session for a request, which ends with exit.
func (h *Handler) known(key string, busy int) (*client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	client := h.keys[key]
	if client == nil || client.session == nil {
		return nil, &httpError{status: http.StatusNotFound, message: "there is no such session, or it has ended: begin a new one with initialize"}
	}
	return client, h.enter(client, busy)
}

// made returns the client of a key for a request, which ends with exit. It makes
// a client if the key has none; the empty key never has one.
func (h *Handler) made(key string, busy int) (*client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if client := h.keys[key]; client != nil {
		return client, h.enter(client, busy)
	}
	if h.shut {
		return nil, &httpError{status: http.StatusServiceUnavailable, message: "this worker is shutting down"}
	}
	if len(h.clients) >= h.opts.Clients {
		oldest := h.oldestIdle()
		if oldest == nil {
			return nil, &httpError{status: http.StatusServiceUnavailable, message: "as many clients as can be are connected, and all of them work: try again later"}
		}
		h.stopSoon(oldest)
	}
	client := h.newClient(strings.HasPrefix(key, sharedKey))
	h.clients[client] = true
	if key != "" {
		client.key = key
		h.keys[key] = client
	}
	return client, h.enter(client, busy)
}

// cutOff breaks off the answer to a request at the client's end, in case nobody
// reads it, unless stay was called before.
func (client *client) cutOff(w http.ResponseWriter) (stay func()) {
	stop := context.AfterFunc(client.ended, func() {
		// A writer without deadlines can't be interrupted.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	})
	return func() { stop() }
}

// smallBody is how many bytes a request may have that is always taken, as the one that
// cancels a call.
const smallBody = 4 << 10

// reserve counts in the bytes of a request, or refuses it.
func (h *Handler) reserve(size int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if size > smallBody && h.bytes+size > h.opts.Bytes {
		return &httpError{status: http.StatusTooManyRequests, message: fmt.Sprintf("requests and calls with %d bytes are open, %d at most can be: try again when some are answered", h.bytes, h.opts.Bytes)}
	}
	h.bytes += size
	return nil
}

// release ends what reserve began.
func (h *Handler) release(size int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= size
}

// enter counts in a request of a client, or refuses it. h.mu is held.
func (h *Handler) enter(client *client, busy int) error {
	switch {
	case client.closing:
		return &httpError{status: http.StatusNotFound, message: "the session is ending: begin a new one with initialize"}
	case client.requests >= h.opts.Requests:
		return &httpError{status: http.StatusTooManyRequests, message: "too many requests of this session are open: try again when some are answered"}
	}
	client.open.Add(1)
	client.requests++
	client.busy += busy
	return nil
}

// exit ends what enter began.
func (h *Handler) exit(client *client, busy int) {
	h.mu.Lock()
	client.requests--
	h.mu.Unlock()
	h.count(client, -busy)
	client.open.Done()
}

// begun reports whether a client's session has begun.
func (h *Handler) begun(client *client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return client.key != ""
}

// idle reports whether no request is open and no work goes on. h.mu is held.
func (client *client) idle() bool {
	return !client.closing && client.requests == 0 && client.busy == 0 && !client.Working()
}

// oldestIdle returns the client that has been idle the longest; nil means none is
// idle. h.mu is held.
func (h *Handler) oldestIdle() *client {
	var oldest *client
	for client := range h.clients {
		if client.idle() && (oldest == nil || client.last.Before(oldest.last)) {
			oldest = client
		}
	}
	return oldest
}

// endIdle ends the clients that have been idle for too long, until Close.
func (h *Handler) endIdle() {
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

// stopSoon ends a client in the background. h.mu is held.
func (h *Handler) stopSoon(client *client) {
	if h.closeClient(client) {
		h.ending.Go(func() { h.finish(client) })
	}
}

// stop ends a client. It returns once the client has ended, or at once if another
// call is ending it.
func (h *Handler) stop(client *client) {
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

// closeClient makes a client take no more requests. It reports whether the client
// took them until now. h.mu is held.
func (h *Handler) closeClient(client *client) bool {
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

// finish cancels a client's work, lets its requests be answered, and ends its
// session.
func (h *Handler) finish(client *client) {
	client.Cancel()
	limit := time.NewTimer(h.opts.Grace)
	defer limit.Stop()
	select {
	case <-client.quiet:
	case <-limit.C:
		h.log.Warn("the client did not take its last results", "within", h.opts.Grace)
	}
	client.drop()
	h.closeSession(client)
	client.open.Wait()
	h.closeSession(client) // should it have begun meanwhile
	if err := client.Close(); err != nil {
		h.log.Error("ending a client over HTTP", "err", err)
	}
}

func (h *Handler) closeSession(client *client) {
	h.mu.Lock()
	session := client.session
	h.mu.Unlock()
	if session != nil {
		// A session over HTTP has no connection that could fail to close.
		_ = session.Close()
	}
}

// Close takes no more requests, cancels the calls and lets them be answered. It
// returns once the sessions of all clients have ended.
func (h *Handler) Close() {
	h.mu.Lock()
	h.shut = true
	for client := range h.clients {
		h.stopSoon(client)
	}
	h.mu.Unlock()
	h.cancel()
	h.ending.Wait()
}
