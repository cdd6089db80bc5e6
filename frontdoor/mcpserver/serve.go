package mcpserver

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// instructions is what the host's model reads about the server as a whole.
// Hosts cut it at 4,096 characters.
const instructions = "The task tool gives work to subagents that this repository defines. " +
	"Each works in a session of its own, with the permissions of its definition, and answers once, at the end. " +
	"Where a call is answered before its subagent has ended, the subagent goes on, and task_wait brings its answer."

// sideBySide is added to the instructions of a host that does it.
const sideBySide = " Independent tasks go into several calls in one turn: they run side by side."

// Stdio is the transport of a host that starts the worker.
type Stdio = transport.Stdio

// Serve serves one connection until the host ends it or ctx ends; neither is
// an error. Then it cancels the calls that still run, sends their results if
// the host still reads, and returns when the connection's sessions have ended.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	c := newConnection(ctx, s)
	server := c.server()
	host, err := server.Connect(ctx, &transport.Draining{Transport: t, Ctx: ctx, CancelCalls: c.cancel, GivenUp: &c.givenUp, Logger: s.log}, nil)
	if err != nil {
		return errors.Join(err, c.close())
	}
	c.owned.Go(func() { c.announce(server) })
	c.owned.Go(c.prompts)
	err = host.Wait()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) { // the host has gone
		c.log.Warn("the host does not read any more", "err", err)
		err = nil
	}
	return errors.Join(err, c.close())
}

// server returns the MCP server of this connection.
func (c *connection) server() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "worker", Title: "agentworker", Version: c.version},
		&mcp.ServerOptions{
			Instructions: instructions, // instruct has them as the host gets them
			Logger:       c.log,
			Capabilities: c.capabilities(),
			SetCacheable: setCacheable,
		},
	)
	c.changes = c.tasks.OfferChanges(c.ctx)
	c.addTools(server)
	c.addResources(server)
	c.addTasks(server)
	c.prompts = c.addPrompts(server)
	server.AddReceivingMiddleware(c.listNow, c.instruct)
	if c.perAgent {
		server.AddReceivingMiddleware(c.callAgentTool)
	}
	return server
}

// listTTL is how long a client may go by a list without asking again. It is told of a
// change, but not where it listens to nothing.
const listTTL = 2 * time.Second

// setCacheable says how long a client may keep a result: the lists of what is offered for a
// moment, and what sessions do not at all. They are no other client's.
func setCacheable(_ context.Context, req mcp.Request, cache *mcp.Cacheable) {
	cache.CacheScope = "private"
	switch req.(type) {
	case *mcp.ListToolsRequest, *mcp.ListPromptsRequest, *mcp.ListResourceTemplatesRequest:
		cache.TTLMs = int(listTTL.Milliseconds())
	}
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
			res.Capabilities = withoutExtensions(res.Capabilities)
		case *mcp.DiscoverResult:
			if discover, ok := req.(*mcp.ServerRequest[*mcp.DiscoverParams]); ok {
				res.Instructions = c.instructions(discover.ClientInfo())
			}
		}
		return res, err
	}
}

func (c *connection) instructions(client *mcp.Implementation) string {
	if c.host(client).SideBySide(c.readOnly || c.tasks.ReadOnly()) {
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
		caps.AddExtension(exttask.ID, nil)
	}
	return caps
}

// withoutExtensions are the capabilities for a client whose version of the protocol
// has none of the extensions.
func withoutExtensions(caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if caps == nil {
		return nil
	}
	plain := *caps
	plain.Extensions = nil
	return &plain
}

// announce tells the host each time that it is offered another task tool.
func (c *connection) announce(server *mcp.Server) {
	for range c.changes {
		c.addTaskTool(server) // sends tools/list_changed
	}
}
