// Package mcphttp serves MCP over streamable HTTP to many clients: their
// sessions, their limits, and the replay of what a broken connection missed.
//
// It knows nothing of tasks. A [Backend] opens a [Client] for each client; this
// package decides which request belongs to which client, when a client is idle,
// and when it ends.
package mcphttp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// Backend opens what serves a client.
type Backend interface {
	// Open returns what serves a new client. It gets only the values of ctx, and ends by
	// [Client.Cancel] and [Client.Close]. shared: several clients with the same name and
	// version use it.
	Open(ctx context.Context, shared bool) Client

	// ClientName names a client to people. client may be nil.
	ClientName(client *mcp.Implementation) string
}

// Client serves one client. Its methods are safe for concurrent use.
type Client interface {
	// MCP returns the MCP server for the client's requests, always the same.
	MCP() *mcp.Server

	// GivenUp records the calls that the client gives up on, always in the same place.
	GivenUp() *transport.GivenUp

	// Working reports whether work goes on, whether or not a call waits for it.
	Working() bool

	// Cancel stops the work without waiting for it.
	Cancel()

	// Close stops the work, waits for its end, and ends the root session. No
	// call may be running.
	Close() error
}
