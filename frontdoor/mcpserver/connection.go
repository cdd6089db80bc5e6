package mcpserver

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
)

// connection is one host and the root session that stands for it.
type connection struct {
	*Server
	identity caller.Identity // of the host
	shared   bool            // by clients that know each other's sessions by nothing but their ids
	ctx      context.Context // ends with the connection, and all of its children with it
	cancel   context.CancelFunc
	progress *progressTracker
	givenUp  transport.GivenUp
	owned    sync.WaitGroup     // all that runs for the connection
	changes  iter.Seq[struct{}] // of the tools that the host is offered
	prompts  func()             // keeps those that the host is offered up to date
	sender   exttask.Sender

	starts sync.RWMutex // read-locked while a child is opened and not yet among children

	mu       sync.Mutex
	client   string            // who the host is, once there was a call
	root     *session.Session  // nil means there was no call yet
	roots    []string          // ids: of root, and of those that it has replaced
	children map[string]*child // those that run, by session id
	ended    []*ended          // the last of the others, the oldest first
	handed   map[string]bool   // approvals with which a call was answered, by their ids
	lastForm time.Time         // when the host last sent a form back
	attempts int               // calls for all children that were answered without a result
	rounds   map[string]round  // what calls were answered with that the host is to make again, by requestState
	asked    map[string]*asked // questions of tasks, by their ids
	putAnew  chan struct{}     // closed when one of them is put again
}

// newConnection returns a connection. ctx gives it values alone: its calls end
// when it says so, in order.
func newConnection(ctx context.Context, s *Server) *connection {
	c := &connection{
		Server:   s,
		identity: caller.OwnerIdentity,
		progress: newProgressTracker(),
		children: make(map[string]*child),
		rounds:   make(map[string]round),
		handed:   make(map[string]bool),
		asked:    make(map[string]*asked),
		putAnew:  make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// name is what people know the host by.
func (c *connection) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// close stops the children, waits for them, and ends the root session. No call
// may be running.
func (c *connection) close() error {
	c.cancel()
	c.owned.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == nil || c.root.Record().Status.Ended() {
		return nil
	}
	if err := c.root.End(store.Completed, nil); err != nil {
		return fmt.Errorf("ending the host's session: %w", err)
	}
	return nil
}

// describeClient says in the root's record which host it stands for.
func describeClient(client *mcp.Implementation) string {
	if client == nil || strings.TrimSpace(client.Name) == "" {
		return "MCP host"
	}
	return termtext.OneLine("MCP host "+client.Name+" "+client.Version, 100)
}
