package mcpserver

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
)

// connection is one host and the root session that stands for it.
type connection struct {
	*Server
	ctx     context.Context // ends with the connection, and all of its calls with it
	cancel  context.CancelFunc
	tracker tracker
	follows sync.WaitGroup
	changes iter.Seq[struct{}] // of the tools that the host is offered

	mu   sync.Mutex
	root *session.Session // nil: there was no call yet
}

// newConnection returns a connection. ctx gives it values alone: its calls end
// when it says so, in order.
func newConnection(ctx context.Context, s *Server) *connection {
	c := &connection{Server: s}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// server returns the MCP server of this connection.
func (c *connection) server() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "worker", Title: "agentworker", Version: c.version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       c.log,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		},
	)
	c.changes = c.tasks.OfferChanges(c.ctx)
	server.AddTool(c.taskTool(), c.task)
	server.AddTool(agentsListTool(), c.agentsList)
	server.AddReceivingMiddleware(c.listNow)
	return server
}

// announce tells the host each time that it is offered another task tool.
func (c *connection) announce(server *mcp.Server) {
	for range c.changes {
		server.AddTool(c.taskTool(), c.task) // sends tools/list_changed
	}
}

// caller returns the root session. The first call opens it, in the name of the
// client, and follows its stream.
func (c *connection) caller(client *mcp.Implementation) (*session.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil {
		return c.root, nil
	}
	root, err := c.tasks.OpenCaller(c.ctx, describeClient(client))
	if err != nil {
		return nil, fmt.Errorf("opening a session for the host: %w", err)
	}
	c.root = root
	c.follows.Go(func() { c.follow(root.Path()) })
	return root, nil
}

// follow hands the events of the root's stream to the tracker. Where that
// fails the calls go on, and their progress tells the time alone.
func (c *connection) follow(path eventbus.Path) {
	for d, err := range c.bus.Follow(c.ctx, path, eventbus.FollowOptions{Live: true}) {
		if err != nil {
			if c.ctx.Err() == nil {
				c.log.Warn("following the host's session for progress", "err", err)
			}
			return
		}
		c.tracker.event(d.Raw)
	}
}

// close ends the root session. No call may be running.
func (c *connection) close() error {
	c.cancel()
	c.follows.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == nil {
		return nil
	}
	if err := c.root.End(session.Completed, nil); err != nil {
		return fmt.Errorf("ending the host's session: %w", err)
	}
	return nil
}

// describeClient says in the root's record which host it stands for.
func describeClient(client *mcp.Implementation) string {
	if client == nil || strings.TrimSpace(client.Name) == "" {
		return "MCP host"
	}
	return eventbus.OneLine("MCP host "+client.Name+" "+client.Version, 100)
}
