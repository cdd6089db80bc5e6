package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// HTTPOptions configures [Server.HTTP].
type HTTPOptions = mcphttp.Options

// HTTP serves MCP over streamable HTTP. The context of a request says who makes it
// ([caller.IdentityOf]). Each identity has clients and sessions of its own, and what it
// may do depends on its scopes.
type HTTP struct {
	server *Server
	opts   *HTTPOptions

	mu     sync.Mutex
	closed bool
	doors  map[string]*mcphttp.Handler // by identity
}

// HTTP returns a handler that serves any number of clients; nil means the zero
// HTTPOptions. End it with Close.
func (s *Server) HTTP(opts *HTTPOptions) *HTTP {
	return &HTTP{server: s, opts: opts, doors: make(map[string]*mcphttp.Handler)}
}

// ServeHTTP implements [http.Handler].
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if door := h.door(caller.IdentityOf(r.Context())); door != nil {
		door.ServeHTTP(w, r)
		return
	}
	http.Error(w, "this worker is shutting down", http.StatusServiceUnavailable)
}

// door returns what serves the clients of an identity; nil means that nothing does any
// more.
func (h *HTTP) door(identity caller.Identity) *mcphttp.Handler {
	key := fmt.Sprint(identity.Name, identity.Scopes)
	h.mu.Lock()
	defer h.mu.Unlock()
	door := h.doors[key]
	if door == nil && !h.closed {
		door = mcphttp.New(httpBackend{h.server, identity}, h.opts, h.server.log)
		h.doors[key] = door
	}
	return door
}

// Close takes no more requests, cancels the calls and lets them be answered. It returns
// once the sessions of all clients have ended.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	doors := slices.Collect(maps.Values(h.doors))
	h.mu.Unlock()
	var ending sync.WaitGroup
	for _, door := range doors {
		ending.Go(door.Close)
	}
	ending.Wait()
}

// httpBackend opens a connection for each client over HTTP.
type httpBackend struct {
	server   *Server
	identity caller.Identity
}

func (b httpBackend) Open(ctx context.Context, shared bool) mcphttp.Client {
	c := newConnection(ctx, b.server)
	c.shared, c.identity = shared, b.identity
	client := httpClient{conn: c, server: c.server()}
	client.server.AddReceivingMiddleware(c.scoped)
	c.owned.Go(func() { c.announce(client.server) })
	c.owned.Go(c.prompts)
	return client
}

func (httpBackend) ClientName(client *mcp.Implementation) string { return describeClient(client) }

// httpClient is a connection as package mcphttp sees it.
type httpClient struct {
	conn   *connection
	server *mcp.Server
}

func (c httpClient) Server() *mcp.Server { return c.server }

func (c httpClient) Mark(req *jsonrpc.Request) { c.conn.givenUp.Mark(req) }

func (c httpClient) CallID(call *mcp.CallToolRequest) string { return transport.MarkOf(call) }

func (c httpClient) Cancelled(params json.RawMessage, running func(callID string) bool) {
	c.conn.givenUp.Cancelled(params, func(id jsonrpc.ID) bool { return running(transport.Key(id)) })
}

func (c httpClient) Answered(callID string) { c.conn.givenUp.Drop(callID) }

// Working reports whether children run. They may go on when their calls are
// answered.
func (c httpClient) Working() bool {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return len(c.conn.children) > 0
}

func (c httpClient) Cancel() { c.conn.cancel() }

func (c httpClient) Close() error { return c.conn.close() }
