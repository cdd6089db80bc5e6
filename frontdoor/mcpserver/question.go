package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
)

// question is what a child waits for and a host can answer.
type question struct {
	id    string
	since time.Time     // when it arose
	until time.Time     // later answers don't count
	over  chan struct{} // closed once no answer is needed
	only  bool          // nobody but the host can answer

	what string // what is waited for: approval, or an answer

	// unseen says how to answer it elsewhere if the host can't show it to its user;
	// empty means it can't be answered elsewhere.
	unseen string

	// wants reports whether a client can be asked.
	wants func(caps *mcp.ClientCapabilities) bool

	// request is what the client gets to see: an [mcp.ElicitParams] or an
	// [mcp.CreateMessageWithToolsParams].
	request func(ctx context.Context, p peer) (mcp.InputRequest, error)

	// answer receives the client's response, or the error instead of one, and how long
	// the question was shown. It may be called twice: two calls may wait for the
	// same child.
	answer func(ctx context.Context, response mcp.InputResponse, err error, p peer, shown time.Duration) reply
}

// peer is a client that is asked.
type peer struct {
	hosts.Host
	caps *mcp.ClientCapabilities
}

// peerOf returns the client of a request.
func (s *Server) peerOf(req interface {
	ClientInfo() *mcp.Implementation
	ClientCapabilities() *mcp.ClientCapabilities
}) peer {
	return peer{s.host(req.ClientInfo()), req.ClientCapabilities()}
}

// reply is the outcome of a question that a client was asked.
type reply uint8

const (
	settled reply = iota
	again         // ask again
	unseen        // this client does not answer it
)

// way is how a client can be asked while it waits for a call.
type way uint8

const (
	noWay     way = iota
	byRequest     // the server sends a request of its own
	byRound       // the call is answered with the question, and made again with the answer
)

// wayOf returns how the client of a request can be asked. A client that shook hands
// for a version without a handshake is not asked: its behaviour is unknown.
func wayOf(req *mcp.CallToolRequest) way {
	handshake := ""
	if p := req.Session.InitializeParams(); p != nil {
		handshake = p.ProtocolVersion
	}
	own, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	switch {
	case own >= exttask.Sessionless && (handshake == "" || handshake >= exttask.Sessionless):
		return byRound
	case own == "" && handshake != "" && handshake < exttask.Sessionless:
		return byRequest
	default:
		return noWay
	}
}

// sendRequest sends a question to a host and waits for the response.
func sendRequest(ctx context.Context, host *mcp.ServerSession, request mcp.InputRequest) (mcp.InputResponse, error) {
	switch r := request.(type) {
	case *mcp.ElicitParams:
		return host.Elicit(ctx, r)
	case *mcp.CreateMessageWithToolsParams:
		return host.CreateMessageWithTools(ctx, r)
	default:
		return nil, fmt.Errorf("a host can't be asked a %T", request)
	}
}
