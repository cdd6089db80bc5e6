package mcpserver

import (
	"context"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/listing"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

// hostConn is the connection of one host. Its parts have a lock each: the host and its
// session ([rootSession]), its [children], the questions for it ([asker], [rounds],
// [taskExtension]) and its calls ([waiter], [toolSet]).
type hostConn struct {
	*Server
	ctx      context.Context // ends with the connection, and all of its children with it
	cancel   context.CancelFunc
	givenUp  transport.GivenUp
	root     *rootSession
	children *children
	asker    *asker
	tools    *toolSet
	owned    sync.WaitGroup // what runs for the connection

	mcp     *mcp.Server
	changes iter.Seq[*taskt.Offer] // of the tools that the host is offered
	prompts *listing.Prompts
}

// open returns a connection for a host with an identity. It gets only the values of ctx,
// because its calls end in order, by Close. shared: several clients use it.
func (s *Server) open(ctx context.Context, identity caller.Identity, shared bool) *hostConn {
	c := &hostConn{Server: s}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	progress := newProgressTracker()
	c.root = &rootSession{Server: s, ctx: c.ctx, identity: identity, shared: shared}
	c.root.model = func() session.Model { return s.hostModel(progress) }
	c.root.opened = func(path event.Path) { c.owned.Go(func() { c.follow(progress, path) }) }
	c.children = &children{Server: s, root: c.root, progress: progress, running: make(map[string]*child)}
	c.asker = &asker{Server: s, root: c.root}
	rounds := &rounds{children: c.children, open: make(map[string]round)}
	w := &waiter{Server: s, ctx: c.ctx, root: c.root, children: c.children, asker: c.asker, rounds: rounds, givenUp: &c.givenUp, reported: make(map[string]bool)}
	c.tools = &toolSet{w, listing.Tools{Tasks: s.opts.Tasks, ReadOnly: s.opts.ReadOnly}}
	c.children.onEnd = func(id string, last bool) {
		rounds.dropQuestions(id)
		if last {
			w.forgetReported()
		}
	}
	c.mcp = c.newServer()
	c.owned.Go(c.announce)
	c.owned.Go(c.prompts.Follow)
	return c
}

// newServer returns the connection's MCP server.
func (c *hostConn) newServer() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "worker", Title: "agentworker", Version: c.opts.Version},
		&mcp.ServerOptions{
			Instructions: instructions, // instruct adapts them to the host
			Logger:       c.opts.Logger,
			Capabilities: c.capabilities(),
			SetCacheable: setCacheable,
		},
	)
	c.changes = c.opts.Tasks.OfferChanges(c.ctx)
	c.tools.add(server)
	if c.opts.Sessions != nil {
		resources := listing.Resources{Sessions: c.opts.Sessions, Owns: c.root.owns}
		if !c.root.shared {
			resources.Roots = c.root.all
		}
		resources.Add(server)
		tasks := &taskExtension{Server: c.Server, ctx: c.ctx, root: c.root, children: c.children, asker: c.asker, asked: make(map[string]*taskQuestion), askAgain: make(chan struct{})}
		tasks.add(server)
	}
	c.prompts = listing.NewPrompts(c.ctx, c.opts.Tasks, server)
	server.AddReceivingMiddleware(c.root.authorize, c.tools.instruct)
	return server
}

// capabilities are what the server offers from its start, whatever there is of
// it then.
func (c *hostConn) capabilities() *mcp.ServerCapabilities {
	caps := &mcp.ServerCapabilities{
		Tools:   &mcp.ToolCapabilities{ListChanged: true},
		Prompts: &mcp.PromptCapabilities{ListChanged: true},
	}
	if c.opts.Sessions != nil {
		caps.Resources = new(mcp.ResourceCapabilities)
		caps.AddExtension(exttask.ID, nil)
	}
	return caps
}

// announce notifies the host each time that it is offered another task tool.
func (c *hostConn) announce() {
	for range c.changes {
		c.tools.addTask(c.mcp) // sends tools/list_changed
	}
}

// follow passes the events of a root's stream to the progress of its children. If it
// fails the calls go on, and their progress shows only the time.
func (c *hostConn) follow(progress *progressTracker, root event.Path) {
	for d, err := range c.opts.Bus.Follow(c.ctx, root, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			if c.ctx.Err() == nil {
				c.opts.Logger.Warn("following the host's session for progress", "err", err)
			}
			return
		}
		if f, waits := progress.event(d); waits != nil && c.opts.Sessions != nil {
			f.ask(c.asker.approval(waits))
		}
	}
}

// MCP, GivenUp, Working, Cancel and Close make it a client of package mcphttp.
func (c *hostConn) MCP() *mcp.Server { return c.mcp }

func (c *hostConn) GivenUp() *transport.GivenUp { return &c.givenUp }

// Working reports whether children run. They may go on when their calls are answered.
func (c *hostConn) Working() bool { return c.children.working() }

func (c *hostConn) Cancel() { c.cancel() }

// Close stops the children, waits for them, and ends the root session. No call
// may be running.
func (c *hostConn) Close() error {
	c.cancel()
	c.children.owned.Wait()
	c.owned.Wait()
	return c.root.end()
}
