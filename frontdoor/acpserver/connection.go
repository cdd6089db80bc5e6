package acpserver

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
)

// connection is a client with the conversations that it has open.
type connection struct {
	*client

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	talks  map[string]*talk
}

func newConnection(c *client) *connection {
	return &connection{client: c, talks: make(map[string]*talk)}
}

// talkOf returns a conversation that the client has open.
func (c *connection) talkOf(id acp.SessionId) (*talk, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.talks[string(id)]; t != nil {
		return t, nil
	}
	return nil, &record.NotFoundError{What: "session", ID: termtext.OneLine(string(id), termtext.MaxTitle)}
}

// cancellation returns a cancellation of the newest prompt's request, to follow a message that
// cancels its turn. The SDK handles each message in a goroutine of its own, in any order, but
// such a cancellation at once.
func (c *connection) cancellation(m message) []byte {
	if m.Method != acp.AgentMethodSessionPrompt && m.Method != acp.AgentMethodSessionCancel {
		return nil
	}
	var of struct {
		SessionID acp.SessionId `json:"sessionId"`
	}
	if json.Unmarshal(m.Params, &of) != nil {
		return nil
	}
	t, err := c.talkOf(of.SessionID)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Method == acp.AgentMethodSessionPrompt {
		t.request = m.ID
		return nil
	}
	if t.request == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`+"\n", *t.request)
}
