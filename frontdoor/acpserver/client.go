package acpserver

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"
)

// client is the other end of a connection.
type client struct {
	*Server
	ctx    context.Context // ends with the connection: all turns do
	cancel context.CancelFunc
	life   context.Context // ends when nothing more is shown
	shut   context.CancelFunc
	out    *output
	peer   *acp.Connection
	ready  chan struct{}            // closed once peer is set
	owned  sync.WaitGroup           // what shows streams, and asks
	is     atomic.Pointer[identity] // nil means it has not called initialize
}

// identity is what a client says of itself.
type identity struct {
	name      string
	subagents bool // it shows subagents as sessions
}

func newClient(ctx context.Context, s *Server, out io.Writer) *client {
	c := &client{Server: s, out: newOutput(out), ready: make(chan struct{})}
	c.life, c.shut = context.WithCancel(context.WithoutCancel(ctx))
	c.ctx, c.cancel = context.WithCancel(c.life)
	return c
}

// update shows the client something of a session. An error means that the client no
// longer reads: the connection ends by itself.
func (c *client) update(sessionID string, update any) {
	err := c.peer.SendNotification(c.life, acp.ClientMethodSessionUpdate, map[string]any{"sessionId": sessionID, "update": update})
	if err != nil {
		c.log.Debug("showing an update", "session", sessionID, "err", err)
	}
}

// announce shows the client something of a subagent, in the session that has made it.
func (c *client) announce(parent string, u subagentUpdate) {
	u.SessionUpdate = "subagent_update"
	c.update(parent, u)
}

// by names the client's user, for people.
func (c *client) by() string { return fmt.Sprintf("the user of %s", c.is.Load().name) }
