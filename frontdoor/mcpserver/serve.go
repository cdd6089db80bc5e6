package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
)

// Stdio is the transport of a host that starts the worker.
type Stdio = transport.Stdio

// Serve serves one connection until the host ends it or ctx ends; neither is
// an error. Then it cancels the calls that still run, sends their results if
// the host still reads, and returns when the connection's sessions have ended. A worker that
// drains ends ctx after that: the end of the connection cancels nothing until then, since
// what runs may still be handed over.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	c := s.open(ctx, caller.OwnerIdentity, false)
	handOver := func() {
		if s.opts.Tasks.Draining() {
			<-ctx.Done()
		}
	}
	cancel := func() {
		handOver()
		c.cancel()
	}
	host, err := c.mcp.Connect(ctx, &transport.Draining{Transport: t, Ctx: ctx, CancelCalls: cancel, GivenUp: &c.givenUp, Logger: s.opts.Logger}, nil)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	err = host.Wait()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) { // the host does not read any more
		s.opts.Logger.Warn("the host does not read any more", "err", err)
		err = nil
	}
	handOver()
	return errors.Join(err, c.Close())
}

// HTTPOptions configures [Server.HTTP].
type HTTPOptions = mcphttp.Options

// HTTP serves MCP over streamable HTTP. The context of a request says who makes it
// ([caller.IdentityOf]). Each identity has clients and sessions of its own, and what it
// may do depends on its scopes.
type HTTP struct {
	server *Server
	opts   *HTTPOptions

	mu     sync.Mutex
	closed bool
	doors  map[string]door // by identity
	ending sync.WaitGroup  // doors that End has taken away
}

// door serves the clients of an identity.
type door struct {
	*mcphttp.Handler
	of caller.Identity
}

// HTTP returns a handler that serves any number of clients; nil means the zero
// HTTPOptions, whose Clients are [taskt.Limits.OpenCalls] here. End it with Close.
func (s *Server) HTTP(opts *HTTPOptions) *HTTP {
	var of HTTPOptions
	if opts != nil {
		of = *opts
	}
	of.Clients = cmp.Or(of.Clients, s.opts.Tasks.OpenCalls())
	return &HTTP{server: s, opts: &of, doors: make(map[string]door)}
}

// ServeHTTP implements [http.Handler].
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if clients := h.door(caller.IdentityOf(r.Context())); clients != nil {
		clients.ServeHTTP(w, r)
		return
	}
	http.Error(w, "this worker is shutting down", http.StatusServiceUnavailable)
}

// door returns what serves the clients of an identity; nil means that nothing does any
// more.
func (h *HTTP) door(identity caller.Identity) *mcphttp.Handler {
	key := keyOf(identity)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doors[key].Handler == nil && !h.closed {
		h.doors[key] = door{mcphttp.New(httpBackend{h.server, identity}, h.opts, h.server.opts.Logger), identity}
	}
	return h.doors[key].Handler
}

func keyOf(identity caller.Identity) string { return fmt.Sprint(identity.Name, identity.Scopes) }

// Identities returns the identities that have made requests and were not ended.
func (h *HTTP) Identities() (all []caller.Identity) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.doors {
		all = append(all, d.of)
	}
	return all
}

// End ends the sessions of an identity's clients with what their calls have started, and
// does not wait for that. Who comes with the identity afterwards begins anew.
func (h *HTTP) End(identity caller.Identity) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.doors[keyOf(identity)]
	if d.Handler == nil || h.closed {
		return
	}
	delete(h.doors, keyOf(identity))
	h.ending.Go(d.Close)
}

// Close takes no more requests, cancels the calls and lets them be answered. It returns
// once the sessions of all clients have ended.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	for _, d := range h.doors {
		h.ending.Go(d.Close)
	}
	h.mu.Unlock()
	h.ending.Wait()
}

// httpBackend opens a connection for each client over HTTP.
type httpBackend struct {
	server   *Server
	identity caller.Identity
}

// Open implements [mcphttp.Backend].
func (b httpBackend) Open(ctx context.Context, shared bool) mcphttp.Client {
	return b.server.open(ctx, b.identity, shared)
}

// ClientName implements [mcphttp.Backend].
func (httpBackend) ClientName(client *mcp.Implementation) string { return describeClient(client) }
