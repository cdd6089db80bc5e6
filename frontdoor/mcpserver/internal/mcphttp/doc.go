// Package mcphttp serves MCP over streamable HTTP to many clients: their
// sessions, their limits, and the replay of what a broken connection missed.
//
// It knows nothing of tasks. A [Backend] opens a [Client] for each client; this
// package decides which request belongs to which client, when a client is idle,
// and when it ends.
package mcphttp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// Sessionless is the first version of the protocol without sessions: each
	// request names its client. Versions are compared as text.
	Sessionless = "2026-07-28"

	// Listen is the one method whose requests are answered only at the
	// connection's end.
	Listen = "subscriptions/listen"
)

// Backend opens what serves a client.
type Backend interface {
	// Open returns what serves a new client. ctx gives it values alone: it ends
	// by [Client.Cancel] and [Client.Close]. shared: several clients with the same
	// name and version use it.
	Open(ctx context.Context, shared bool) Client

	// ClientName names a client to people. client may be nil.
	ClientName(client *mcp.Implementation) string
}

// Client serves one client. Its methods are safe for concurrent use.
type Client interface {
	// Server returns the MCP server for the client's requests, always the same.
	Server() *mcp.Server

	// Mark writes a request's id into its params, where [Client.CallID] finds it.
	Mark(req *jsonrpc.Request)

	// CallID returns the id of a marked call; empty means it has no mark.
	CallID(call *mcp.CallToolRequest) string

	// Cancelled takes the params of a "notifications/cancelled" message. running
	// reports whether a call with an id runs.
	Cancelled(params json.RawMessage, running func(callID string) bool)

	// Answered says that a call has ended.
	Answered(callID string)

	// Working reports whether work goes on, whether or not a call waits for it.
	Working() bool

	// Cancel stops the work without waiting for it.
	Cancel()

	// Close stops the work, waits for its end, and ends the root session. No
	// call may be running.
	Close() error
}
