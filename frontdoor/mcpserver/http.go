package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// HTTPOptions configures [Server.HTTP].
type HTTPOptions = mcphttp.Options

// HTTP serves MCP over streamable HTTP.
type HTTP = mcphttp.Handler

// HTTP returns a handler that serves any number of clients; nil means the zero
// HTTPOptions. End it with Close.
func (s *Server) HTTP(opts *HTTPOptions) *HTTP {
	return mcphttp.New(httpBackend{s}, opts, s.log)
}

// httpBackend opens a connection for each client over HTTP.
type httpBackend struct{ server *Server }

func (b httpBackend) Open(ctx context.Context, shared bool) mcphttp.Client {
	c := newConnection(ctx, b.server)
	c.shared = shared
	client := httpClient{conn: c, server: c.server()}
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
