package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/agentworker/worker/tool/internal/stdio"
)

// Bounds of what is kept of a server's words.
const (
	maxFiles       = 2000 // files with diagnostics
	maxDiagnostics = 200  // of one file
	maxOpen        = 100  // documents
)

// client is a language server that runs. Its methods are safe for concurrent use.
type client struct {
	server  *Server
	root    string // of the workspace
	process *stdio.Process
	wire    *wire
	conn    *jsonrpc2.Conn
	cancel  context.CancelFunc
	work    sync.WaitGroup // what goes on without a caller
	ready   chan struct{}  // closed once initialize is answered, or has failed
	can     capabilities   // once it is ready
	turn    chan struct{}  // has room for one: held while documents are brought up to date

	mu        sync.Mutex
	err       error // why it can't be used any more
	ended     bool  // no work is begun any more
	docs      map[string]*document
	order     []string // of docs, the one longest unused first
	published map[string]published
	news      chan struct{} // closed at the next publication
	jobs      []*job        // checks that wait, or the one that is made
	overdue   int           // of them, how many nobody waits for any more
	late      []report      // of checks that nobody has waited for
}

// document is a file that the server has as somebody edits it.
type document struct {
	version int
	text    string
	heard   int  // how often the server had said something of the file before it had this version
	known   bool // diagnostics of this version were got
	found   []diagnostic
}

// published is what the server has said of a file by itself.
type published struct {
	version int // 0 means that it gave none
	count   int // how often it has said something
	found   []diagnostic
}

// newClient connects to a server that was started, and begins to initialize it.
func newClient(server *Server, root, version string, process *stdio.Process) *client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{
		server: server, root: root, process: process, cancel: cancel, ready: make(chan struct{}), turn: make(chan struct{}, 1),
		docs: map[string]*document{}, published: map[string]published{}, news: make(chan struct{}),
	}
	c.wire = newWire(process.Out, process.In, c.fail)
	c.conn = jsonrpc2.NewConn(ctx, c.wire, handler{c}, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	c.work.Go(func() {
		defer close(c.ready)
		ctx, cancel := context.WithTimeoutCause(ctx, startTime, errSlow(server.Name, startTime))
		defer cancel()
		if err := c.initialize(ctx, version); err != nil {
			c.fail(cause(ctx, err))
		}
	})
	c.work.Go(func() {
		select {
		case <-process.Gone():
			c.fail(fmt.Errorf("it has ended (%s)", process.How()))
		case <-ctx.Done():
		}
	})
	return c
}

func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// initialize makes the handshake of the protocol.
func (c *client) initialize(ctx context.Context, version string) error {
	folder := map[string]any{"uri": fileURI(c.root), "name": filepath.Base(c.root)}
	params := map[string]any{
		"processId": nil, "clientInfo": map[string]any{"name": "agentworker", "version": version},
		"rootUri": fileURI(c.root), "rootPath": c.root, "workspaceFolders": []any{folder}, "capabilities": clientCapabilities,
	}
	if c.server.Init != nil {
		params["initializationOptions"] = c.server.Init
	}
	var result initializeResult
	if err := c.conn.Call(ctx, "initialize", params, &result); err != nil {
		return err
	}
	c.can = result.Capabilities
	if err := c.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	if c.server.Settings != nil {
		return c.conn.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": c.server.Settings})
	}
	return nil
}

// fail notes why the server can't be used any more. The first reason counts.
func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.news)
		c.news = make(chan struct{})
	}
}

// partTime is how long a server that has closed the connection has to say how it has ended.
const partTime = 500 * time.Millisecond

// broken returns why the server can't be used any more; nil means it can.
func (c *client) broken() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, jsonrpc2.ErrClosed) {
		return err
	}
	timer := time.NewTimer(partTime)
	defer timer.Stop()
	select {
	case <-c.process.Gone():
		return fmt.Errorf("it has ended (%s)", c.process.How())
	case <-timer.C:
		return errors.New("it has closed the connection")
	}
}

// errEnded is the error of a server that the session has ended.
var errEnded = errors.New("it was ended")

// end ends the server, and returns once nothing of it runs.
func (c *client) end() error {
	c.fail(errEnded)
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.cancel()
	_ = c.conn.Close()
	err := c.process.End()
	c.work.Wait()
	<-c.wire.ended
	return err
}

// call makes a request once the server is ready.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.broken(); err != nil {
		return err
	}
	err := c.conn.Call(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var said *jsonrpc2.Error
	if errors.As(err, &said) {
		return fmt.Errorf("%s says: %s", c.server.Name, clean(said.Message))
	}
	if why := c.broken(); why != nil {
		return why
	}
	return err
}

// handler answers what a server says and asks by itself. It runs where messages are read: a server
// that asks much waits for its answers.
type handler struct{ c *client }

// Handle implements [jsonrpc2.Handler].
func (h handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Notif {
		var p publishParams
		if req.Method == "textDocument/publishDiagnostics" && req.Params != nil && json.Unmarshal(*req.Params, &p) == nil {
			h.c.publish(&p)
		}
		return
	}
	var answer any
	switch req.Method {
	case "workspace/configuration":
		answer = h.c.configuration(req.Params)
	case "workspace/workspaceFolders":
		answer = []any{map[string]any{"uri": fileURI(h.c.root), "name": filepath.Base(h.c.root)}}
	case "workspace/applyEdit": // it is never asked for one
		answer = map[string]any{"applied": false}
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest", "workspace/diagnostic/refresh":
	default:
		_ = conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported"})
		return
	}
	_ = conn.Reply(ctx, req.ID, answer)
}

// configuration returns the sections of the settings that a server asks for.
func (c *client) configuration(raw *json.RawMessage) []any {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if raw == nil || json.Unmarshal(*raw, &p) != nil {
		return []any{}
	}
	settings := map[string]json.RawMessage{}
	if c.server.Settings != nil {
		_ = json.Unmarshal(c.server.Settings, &settings) // no object: it has no sections
	}
	answers := make([]any, min(len(p.Items), 100))
	for i := range answers {
		switch part, ok := settings[p.Items[i].Section]; {
		case ok:
			answers[i] = part
		case p.Items[i].Section == c.server.Name && c.server.Init != nil: // gopls asks for its options so
			answers[i] = c.server.Init
		}
	}
	return answers
}

// publish notes what the server says of a file.
func (c *client) publish(p *publishParams) {
	path := c.inside(p.URI)
	if path == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.published[path]
	if !ok && len(c.published) >= maxFiles {
		return
	}
	now := published{count: was.count + 1, found: bounded(p.Diagnostics)}
	if p.Version != nil {
		now.version = *p.Version
	}
	c.published[path] = now
	close(c.news)
	c.news = make(chan struct{})
}

// bounded returns the first diagnostics, the gravest ones, with texts of bounded size.
func bounded(all []diagnostic) []diagnostic {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b diagnostic) int { return rank(a) - rank(b) })
	all = slices.Clip(all[:min(len(all), maxDiagnostics)])
	for i := range all {
		all[i].Message, all[i].Source = clean(all[i].Message), clean(all[i].Source)
		if len(all[i].Code) > 100 {
			all[i].Code = nil
		}
	}
	return all
}

func rank(d diagnostic) int { return max(int(d.Severity), int(severityError)) }

// inside returns the path of a URI relative to the workspace, with slashes; empty means it is not in
// it.
func (c *client) inside(uri string) string {
	path := pathOf(uri)
	if path == "" {
		return ""
	}
	rel, err := filepath.Rel(c.root, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}
