package mcpserver

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
)

// connection is one host and the root session that stands for it.
type connection struct {
	*Server
	shared   bool            // by clients that know each other's sessions by nothing but their ids
	ctx      context.Context // ends with the connection, and all of its children with it
	cancel   context.CancelFunc
	progress *progressTracker
	givenUp  givenUp
	owned    sync.WaitGroup     // all that runs for the connection
	changes  iter.Seq[struct{}] // of the tools that the host is offered
	prompts  func()             // keeps those that the host is offered up to date

	starts sync.RWMutex // read-locked while a child is opened and not yet among children

	mu       sync.Mutex
	client   string            // who the host is, once there was a call
	root     *session.Session  // nil: there was no call yet
	roots    []string          // ids: of root, and of those that it has replaced
	children map[string]*child // those that run, by session id
	ended    []*ended          // the last of the others, the oldest first
	handed   map[string]bool   // approvals with which a call was answered, by their ids
	lastForm time.Time         // when the host last sent a form back
	attempts int               // calls for all children that were answered without a result
	rounds   map[string]round  // what calls were answered with that the host is to make again, by requestState
}

// newConnection returns a connection. ctx gives it values alone: its calls end
// when it says so, in order.
func newConnection(ctx context.Context, s *Server) *connection {
	c := &connection{
		Server:   s,
		progress: newProgressTracker(),
		children: make(map[string]*child),
		rounds:   make(map[string]round),
		handed:   make(map[string]bool),
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// server returns the MCP server of this connection.
func (c *connection) server() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "worker", Title: "agentworker", Version: c.version},
		&mcp.ServerOptions{
			Instructions: instructions, // instruct has them as the host gets them
			Logger:       c.log,
			Capabilities: c.capabilities(),
		},
	)
	c.changes = c.tasks.OfferChanges(c.ctx)
	c.addTools(server)
	c.addResources(server)
	c.prompts = c.addPrompts(server)
	server.AddReceivingMiddleware(c.listNow, c.instruct)
	return server
}

// instruct says in the instructions what holds for the host alone.
func (c *connection) instruct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch res := res.(type) {
		case *mcp.InitializeResult:
			if init, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok {
				res.Instructions = c.instructions(init.Params.ClientInfo)
			}
		case *mcp.DiscoverResult:
			if discover, ok := req.(*mcp.ServerRequest[*mcp.DiscoverParams]); ok {
				res.Instructions = c.instructions(discover.ClientInfo())
			}
		}
		return res, err
	}
}

func (c *connection) instructions(client *mcp.Implementation) string {
	if c.host(client).sideBySide(c.readOnly || c.tasks.ReadOnly()) {
		return instructions + sideBySide
	}
	return instructions
}

// capabilities are what the server offers from its start, whatever there is of
// it then.
func (c *connection) capabilities() *mcp.ServerCapabilities {
	caps := &mcp.ServerCapabilities{
		Tools:   &mcp.ToolCapabilities{ListChanged: true},
		Prompts: &mcp.PromptCapabilities{ListChanged: true},
	}
	if c.sessions != nil {
		caps.Resources = new(mcp.ResourceCapabilities)
	}
	return caps
}

// announce tells the host each time that it is offered another task tool.
func (c *connection) announce(server *mcp.Server) {
	for range c.changes {
		c.addTaskTool(server) // sends tools/list_changed
	}
}

// caller returns the root session. The first call opens it, in the name of the
// client, and follows its stream; where it has ended, the next call opens
// another one.
func (c *connection) caller(client *mcp.Implementation) (*session.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil && !c.root.Record().Status.Ended() {
		return c.root, nil
	}
	c.client = describeClient(client)
	var model session.Model
	if c.hostModel != nil {
		model = c.hostModel(c.sample)
	}
	root, err := c.tasks.OpenCallerOn(c.ctx, c.client, model)
	if err != nil {
		return nil, fmt.Errorf("opening a session for the host: %w", err)
	}
	c.root = root
	c.roots = append(slices.Clip(c.roots), root.ID())
	c.owned.Go(func() { c.follow(root.Path()) })
	return root, nil
}

// name is what people know the host by.
func (c *connection) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// follow hands the events of a root's stream to the progress of its children. If it
// fails the calls go on, and their progress tells the time alone.
func (c *connection) follow(path event.Path) {
	for d, err := range c.bus.Follow(c.ctx, path, eventbus.FollowOptions{Live: true}) {
		if err != nil {
			if c.ctx.Err() == nil {
				c.log.Warn("following the host's session for progress", "err", err)
			}
			return
		}
		if f, required := c.progress.event(d.Raw); required != nil && c.sessions != nil {
			f.ask(c.approval(required))
		}
	}
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
	return termtext.OneLine("MCP host "+client.Name+" "+client.Version, 100)
}
