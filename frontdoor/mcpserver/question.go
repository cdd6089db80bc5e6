package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
)

// question is what a child waits for and a host can answer.
type question struct {
	id    string
	since time.Time     // when it arose
	until time.Time     // later answers don't count
	over  chan struct{} // closed once no answer is needed
	only  bool          // nobody but the host can answer

	// unseen says how to answer it elsewhere if the host can't show it to its user;
	// empty means it can't be answered elsewhere.
	unseen string

	// wants reports whether a client can be asked.
	wants func(caps *mcp.ClientCapabilities) bool

	// request is what the client gets to see: an [mcp.ElicitParams] or an
	// [mcp.CreateMessageWithToolsParams].
	request func(ctx context.Context, p peer) (mcp.InputRequest, error)

	// answer takes the client's response, or the error instead of one, and how long
	// the question was shown. It may be called twice: two calls may wait for the
	// same child.
	answer func(ctx context.Context, response mcp.InputResponse, err error, p peer, shown time.Duration) reply
}

// peer is a client that is asked.
type peer struct {
	hosts.Host
	caps *mcp.ClientCapabilities
}

// reply is the outcome of a question that a client was asked.
type reply uint8

const (
	taken  reply = iota // it is settled
	again               // ask again
	unseen              // this client does not answer it
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
	case own >= mcphttp.Sessionless && (handshake == "" || handshake >= mcphttp.Sessionless):
		return byRound
	case own == "" && handshake != "" && handshake < mcphttp.Sessionless:
		return byRequest
	default:
		return noWay
	}
}

// errNoResponse is the error of a question which the host has passed over.
var errNoResponse = errors.New("the host has not answered the request for its model")

func sendRequest(ctx context.Context, host *mcp.ServerSession, request mcp.InputRequest) (mcp.InputResponse, error) {
	switch r := request.(type) {
	case *mcp.ElicitParams:
		res, err := host.Elicit(ctx, r)
		if err != nil {
			return nil, err
		}
		return res, nil
	case *mcp.CreateMessageWithToolsParams:
		res, err := host.CreateMessageWithTools(ctx, r)
		if err != nil {
			return nil, err
		}
		return res, nil
	default:
		return nil, fmt.Errorf("a host can't be asked a %T", request)
	}
}

// round is a call that was answered with questions instead of a result.
type round struct {
	sessionID string // of the one child that is waited for; empty means of several
	want      wanted
	at        time.Time
	questions []*question // none once the child has ended
	wait      wait
}

// wait is how a call waits for its child.
type wait struct {
	limit  time.Duration   // then it is answered without a result; 0 means never
	asked  map[string]bool // the questions that its host was asked before
	unseen map[string]bool // those of them that its user does not answer
	round  int             // how often it was answered with questions
	heard  int             // messages of the child's progress that the host has heard
}
