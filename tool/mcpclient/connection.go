package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// Times of a connection.
const (
	startTime  = 30 * time.Second // until a server has answered initialize
	listTime   = 15 * time.Second // until it has listed its tools
	callTime   = 2 * time.Minute  // of a call, unless its configuration says otherwise
	maxBackoff = 30 * time.Second
	longEnough = time.Minute // a server that ran so long begins anew without a wait
)

// connection is a server that a session uses. It is opened at the first call, and again
// once the server has ended.
type connection struct {
	servers *Servers
	server  *mcpconfig.Server
	said    Trusted
	ws      *tool.Workspace

	authorize auth.OAuthHandler // of a login that runs; nil means none does

	rules atomic.Pointer[permission.Layers] // of the last call

	turn   chan struct{}    // has room for one: held while the server is started or ended
	box    *sandbox.Session // nil means there is none yet, or that the server is remote
	closed bool

	client   *mcp.ClientSession // nil means that none runs
	running  *running
	cancel   context.CancelFunc // ends what the client waits for
	began    time.Time
	failures int
	next     time.Time // not before
	last     string    // how it ended
	refresh  sync.WaitGroup
	calls    calls
}

// running is what a client is connected to.
type running struct {
	gone <-chan struct{} // closed once it has ended; nil means that this is not known
	end  func() error    // ends it, and returns once nothing of it runs
	how  func() string   // how it has ended, with its last words
}

// connection returns that of a session with a server. It is not open before it is used.
func (s *Servers) connection(sessionID string, st *Status, ws *tool.Workspace) (*connection, error) {
	return s.open.Get(sessionID, st.Hash(), func() *connection {
		return &connection{servers: s, server: st.Server, said: st.Trusted, ws: ws, turn: make(chan struct{}, 1)}
	})
}

// End ends the servers of a session, and returns once nothing of them runs.
func (s *Servers) End(sessionID string) error {
	s.pages.forget(sessionID)
	return s.open.End(sessionID)
}

// Close ends all servers.
func (s *Servers) Close() error { return s.open.Close() }

// List asks a server for its tools, and keeps the list. It runs only for this, by the rules
// of the workspace.
func (s *Servers) List(ctx context.Context, server *mcpconfig.Server, ws *tool.Workspace) (tools int, err error) {
	rules, err := s.opts.Rules()
	if err != nil {
		return 0, err
	}
	st := s.Status(server)
	if st.State != Ready {
		return 0, fmt.Errorf("it is %s: %s", st.State, st.Why)
	}
	c := &connection{servers: s, server: server, said: st.Trusted, ws: ws, turn: make(chan struct{}, 1)}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := c.use(ctx, rules); err != nil {
		return 0, err
	}
	return len(s.list(server)), nil
}

// lock waits for the turn to start or end the server.
func (c *connection) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *connection) unlock() { <-c.turn }

// use returns a client of the server, which runs by these rules. It starts the server where
// none runs.
func (c *connection) use(ctx context.Context, rules *permission.Layers) (*mcp.ClientSession, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	if c.closed {
		return nil, errors.New("the session has ended")
	}
	c.rules.Store(rules)
	if c.client != nil && !c.ended() {
		return c.client, nil
	}
	if c.client != nil {
		c.fellAfter(c.running.how())
	}
	if wait := time.Until(c.next); wait > 0 {
		return nil, fmt.Errorf("the MCP server %s ended (%s) and is started again in %s", c.server.Name, c.last, errtext.Duration(wait.Round(time.Second)+time.Second))
	}
	if err := c.start(ctx); err != nil {
		if ctx.Err() == nil {
			c.fell(err.Error())
		}
		return nil, fmt.Errorf("the MCP server %s does not start: %w", c.server.Name, err)
	}
	return c.client, nil
}

// ended reports whether the server of the client has ended.
func (c *connection) ended() bool {
	select {
	case <-c.running.gone:
		return true
	default:
		return false
	}
}

// fellAfter notes that a server that has run has ended.
func (c *connection) fellAfter(how string) {
	if time.Since(c.began) > longEnough {
		c.failures = 0
	}
	c.fell(how)
}

// fell notes that the server has ended or did not start: the next start waits.
func (c *connection) fell(how string) {
	if err := c.stop(); err != nil {
		c.servers.log("ending an MCP server", c.server, err)
	}
	c.last = how
	if c.failures > 0 {
		c.next = time.Now().Add(min(maxBackoff, time.Second<<min(c.failures, 10)))
	}
	c.failures++
}

// start starts the server, connects to it, and has it list its tools.
func (c *connection) start(ctx context.Context) error {
	if err := c.trusted(); err != nil {
		return err
	}
	expanded, err := c.server.Expand(c.servers.opts.Lookup)
	if err != nil {
		return err
	}
	if expanded.Transport != mcpconfig.Stdio {
		if err := mcpconfig.CheckURL(expanded.URL); err != nil {
			return err
		}
	}
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	limit := startTime
	if c.authorize != nil {
		limit = loginTime // a person reads a page meanwhile
	}
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("it has not answered within %s", errtext.Duration(limit))) })
	undo := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	client, running, err := c.connect(lasting, expanded)
	if !timer.Stop() || !undo() {
		err = errors.Join(context.Cause(lasting), err)
	}
	if err != nil {
		cause := context.Cause(lasting)
		cancel(nil)
		if running == nil {
			return err
		}
		wrong := running.end()
		return errors.Join(fmt.Errorf("%w%s", cmp.Or(cause, err), after(running.how())), wrong)
	}
	c.client, c.running, c.began = client, running, time.Now()
	c.cancel = func() { cancel(nil) }
	if err := c.list(ctx); err != nil && c.servers.list(c.server) == nil {
		wrong := c.stop()
		return errors.Join(fmt.Errorf("it does not list its tools: %w%s", err, after(running.how())), wrong)
	}
	return nil
}

// trusted returns an error unless the server may run as it is now, with what it was opened with. In a
// worktree the program runs the files that are there.
func (c *connection) trusted() error {
	st := c.servers.Status(c.server)
	if st.State != Ready {
		return fmt.Errorf("it is %s: %s", st.State, st.Why)
	}
	root := c.servers.opts.Root
	if c.server.Transport == mcpconfig.Stdio {
		root = c.ws.Root()
	}
	if c.said.Name != "" { // a person has trusted it
		if changed := c.servers.opts.Trust.changed(c.server, c.said, root); changed != "" {
			return errors.New(changed)
		}
	}
	return nil
}

// after is what a server said last, as the end of a sentence.
func after(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

// connect starts a server and makes the client. What runs is returned with an error, too.
func (c *connection) connect(ctx context.Context, server *mcpconfig.Server) (*mcp.ClientSession, *running, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "agentworker", Version: c.servers.opts.Version}, &mcp.ClientOptions{
		//lint:ignore SA1019 servers before the revision 2026-07-28 ask for roots, and have no other way
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.refresh.Go(func() { _ = c.relist(ctx) })
		},
		ElicitationHandler:          c.elicit,
		ProgressNotificationHandler: c.progress,
		//lint:ignore SA1019 servers before the revision 2026-07-28 log in this way
		LoggingMessageHandler: c.logged,
	})
	//lint:ignore SA1019 see above
	client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(c.ws.Root())}).String(), Name: "workspace"})
	if server.Transport != mcpconfig.Stdio {
		session, running, err := c.remote(ctx, client, server)
		return session, running, err
	}
	transport, running, err := c.program(server)
	if err != nil {
		return nil, nil, err
	}
	session, err := client.Connect(ctx, transport, nil)
	return session, running, err
}

// relist asks for the tools again, as the server has said that they have changed.
func (c *connection) relist(ctx context.Context) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	if c.client == nil {
		return nil
	}
	return c.list(ctx)
}

// list asks the server for its tools, and keeps them.
func (c *connection) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	tools, size := []listed{}, 0
	for t, err := range c.client.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if t == nil || t.Name == "" {
			continue
		}
		made := clean(t)
		if size += len(made.Schema) + len(made.Description); len(tools) == maxTools || size > maxList/4 {
			c.servers.log("listing tools", c.server, fmt.Errorf("it lists more than are offered: the first %d are", len(tools)))
			break
		}
		tools = append(tools, made)
	}
	c.servers.keep(c.server, tools)
	return nil
}

// stop ends what runs. The next use starts it anew.
func (c *connection) stop() error {
	if c.client == nil {
		return nil
	}
	c.cancel()
	err := c.running.end()
	_ = c.client.Close() // the connection has ended already
	c.client, c.running = nil, nil
	return err
}

// Close ends the server and its sandbox, and returns once nothing of it runs.
func (c *connection) Close() error {
	_ = c.lock(context.Background())
	err := c.stop()
	box := c.box
	c.box, c.closed = nil, true
	c.unlock()
	c.refresh.Wait()
	if box != nil {
		err = errors.Join(err, box.Close())
	}
	return err
}

// call calls a tool of the server.
func (c *connection) call(ctx context.Context, call *tool.Call, name string) (result *mcp.CallToolResult, notes string, err error) {
	limit := c.server.Timeout
	if limit == 0 {
		limit = callTime
	}
	client, err := c.use(ctx, call.Rules)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	under := &underWay{ctx: ctx, ask: call.Ask, tell: call.Tell, clock: startClock(limit, func() {
		cancel(fmt.Errorf("the MCP server %s has not answered within %s", c.server.Name, errtext.Duration(limit)))
	})}
	defer under.clock.stop()
	token, end := c.calls.begin(under)
	defer end()
	params := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(call.Args), Meta: meta(token, call.Traceparent)}
	result, err = client.CallTool(ctx, params)
	if err == nil {
		return result, under.noted(), nil
	}
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if how := c.fallen(client, err); how != "" {
		return nil, "", fmt.Errorf("the MCP server %s ended while it worked: %s. It is started again at the next call", c.server.Name, how)
	}
	return nil, "", fmt.Errorf("the MCP server %s: %w", c.server.Name, err)
}

// fallen returns how the server of a client ended where a call has failed; empty means that it
// runs. One that has closed its connection is ended.
func (c *connection) fallen(client *mcp.ClientSession, err error) string {
	if answers(client, err) {
		return ""
	}
	_ = c.lock(context.Background())
	defer c.unlock()
	if c.client != client || c.client == nil || c.running.gone == nil {
		return ""
	}
	select {
	case <-c.running.gone:
	case <-time.After(stdio.EndTime): // its connection ended, and it did not
	}
	how := c.running.how()
	c.fellAfter(how)
	if how == "" {
		how = "it closed the connection"
	}
	return how
}
