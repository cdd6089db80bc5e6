package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// sessionless is the first version of the protocol that has no sessions:
	// each request says who it is from. Versions are compared as text.
	sessionless = "2026-07-28"

	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
)

// MaxHTTPBody bounds a request's body, in bytes.
const MaxHTTPBody = 4 << 20

// HTTPOptions configures [Server.HTTP].
type HTTPOptions struct {
	// Clients bounds the clients that are connected at once; 0: 100. One more takes
	// the place of the one that has been idle the longest; where none is idle
	// it is refused.
	Clients int

	// Requests bounds the requests of one client that are open at once; 0: 200.
	Requests int

	// Idle is how long a client may send nothing, hold no stream open and have no
	// call running before its session ends; 0: 30 min.
	Idle time.Duration

	// Grace is how long a client may take to read what is left when its session
	// ends; 0: 5 s.
	Grace time.Duration
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Clients == 0 {
		o.Clients = 100
	}
	if o.Requests == 0 {
		o.Requests = 200
	}
	if o.Idle == 0 {
		o.Idle = 30 * time.Minute
	}
	if o.Grace == 0 {
		o.Grace = grace
	}
	return o
}

// HTTP serves MCP over streamable HTTP. Whose requests it gets is for whoever
// hands them on to check: the token, the client and the origin.
//
// Up to 2025-11-25 a client has a session of the protocol, and a root session
// of its own with it: from its initialize request to its DELETE request, or
// until it has been away for [HTTPOptions.Idle]. A connection that breaks ends
// nothing; a client that comes back with the last event it saw gets the rest.
//
// From 2026-07-28 on there are no sessions. The requests of all clients that
// give the same name and version share a root session, which ends when none has
// come for a while. What one of them has called, another one can wait for, read
// and cancel only by its session id, which it is not told; a request that is
// given up is cancelled by that, as the protocol has it.
type HTTP struct {
	server    *Server
	opts      HTTPOptions
	stateful  *mcp.StreamableHTTPHandler
	stateless *mcp.StreamableHTTPHandler

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	ending sync.WaitGroup // clients that end, and the loop that ends idle ones

	mu      sync.Mutex
	shut    bool
	clients map[*client]bool   // those that take requests
	keys    map[string]*client // the same by session id, or as sessionlessKey has it
}

var _ http.Handler = (*HTTP)(nil)

// HTTP returns a handler that serves any number of clients. It wants Close.
func (s *Server) HTTP(opts HTTPOptions) *HTTP {
	h := &HTTP{server: s, opts: opts.withDefaults(), clients: make(map[*client]bool), keys: make(map[string]*client)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	// What these two guard against is guarded against before: see the type.
	common := mcp.StreamableHTTPOptions{Logger: s.log, MaxRequestBodyBytes: MaxHTTPBody, DisableLocalhostProtection: true}
	stateful, stateless := common, common
	stateful.EventStore = newReplay()
	stateless.Stateless = true
	stateless.PropagateRequestCancellation = true
	h.stateful = mcp.NewStreamableHTTPHandler(serverOf, &stateful)
	h.stateless = mcp.NewStreamableHTTPHandler(serverOf, &stateless)
	h.ending.Go(h.endIdle)
	return h
}

// clientKey is where a request's context has its [client].
type clientKey struct{}

// serverOf returns the MCP server of the client that a request is from.
func serverOf(r *http.Request) *mcp.Server {
	if client, ok := r.Context().Value(clientKey{}).(*client); ok {
		return client.mcp
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= sessionless {
		h.serveSessionless(w, r)
		return
	}
	if id := r.Header.Get(sessionHeader); id != "" {
		h.serveSession(w, r, id)
		return
	}
	h.serveNew(w, r)
}

// serveSession serves a request of a session that was begun.
func (h *HTTP) serveSession(w http.ResponseWriter, r *http.Request, id string) {
	busy := 1
	if r.Method == http.MethodGet || r.Method == http.MethodDelete { // one listens, the other ends all
		busy = 0
	}
	client, err := h.known(id, busy)
	if err != nil {
		refuseHTTP(w, err)
		return
	}
	if r.Method == http.MethodDelete {
		h.leave(client, busy)
		h.stop(client)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.leave(client, busy)
	defer client.cutOff(w)()
	if r.Method == http.MethodPost {
		body, err := readBody(r)
		if err != nil {
			refuseHTTP(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(h.note(client, body)))
	}
	h.stateful.ServeHTTP(w, withClient(r, client))
}

// serveNew serves the request that begins a session. Others need one.
func (h *HTTP) serveNew(w http.ResponseWriter, r *http.Request) {
	head, err := peek(r)
	if err == nil && (r.Method != http.MethodPost || head.Method != "initialize") {
		err = &httpError{http.StatusBadRequest, "a request needs the header " + sessionHeader + ", unless it is initialize"}
	}
	if err != nil {
		refuseHTTP(w, err)
		return
	}
	client, err := h.made("", 1)
	if err != nil {
		refuseHTTP(w, err)
		return
	}
	defer func() {
		if !h.begun(client) { // nothing that could be served
			h.stop(client)
		}
	}()
	defer h.leave(client, 1)
	defer client.cutOff(w)()
	h.stateful.ServeHTTP(w, withClient(r, client))
}

// serveSessionless serves a request that stands for itself.
func (h *HTTP) serveSessionless(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuseHTTP(w, &httpError{http.StatusMethodNotAllowed, fmt.Sprintf("from %s on there is POST alone", sessionless)})
		return
	}
	head, err := peek(r)
	if err != nil {
		refuseHTTP(w, err)
		return
	}
	busy := 1
	if head.Method == parked {
		busy = 0
	}
	client, err := h.made(head.sessionlessKey(), busy)
	if err != nil {
		refuseHTTP(w, err)
		return
	}
	defer h.leave(client, busy)
	defer client.cutOff(w)()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(client.gone, cancel)()
	h.stateless.ServeHTTP(w, withClient(r.WithContext(ctx), client))
}

func withClient(r *http.Request, client *client) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), clientKey{}, client))
}

// head is what a request's body says that has to be known before it is served.
type head struct {
	Method string `json:"method"`
	Params struct {
		Meta struct {
			ClientInfo mcp.Implementation `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	} `json:"params"`
}

// sessionlessKey names the client that a request without a session is from. It is
// no session id, which has no space.
func (h *head) sessionlessKey() string {
	return "sessionless " + describeClient(&h.Params.Meta.ClientInfo)
}

// peek reads a request's body, and puts it back. A body that is no request is
// for the SDK to refuse.
func peek(r *http.Request) (head, error) {
	var found head
	body, err := readBody(r)
	if err != nil {
		return found, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if json.Unmarshal(body, &found) != nil {
		return head{}, nil
	}
	return found, nil
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxHTTPBody+1))
	switch {
	case err != nil:
		return nil, &httpError{http.StatusBadRequest, fmt.Sprintf("reading the body: %v", err)}
	case len(body) > MaxHTTPBody:
		return nil, &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", MaxHTTPBody)}
	}
	return body, nil
}

// httpError is why a request is not served.
type httpError struct {
	status  int
	message string
}

func (e *httpError) Error() string { return e.message }

// refuseHTTP answers as the SDKs do: with a JSON-RPC error to no request. That
// a session has ended is told by the status alone: with such an error in it,
// clients take it for that of the request, and try again for ever.
func refuseHTTP(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if r, ok := errors.AsType[*httpError](err); ok {
		status = r.status
	}
	if status == http.StatusNotFound {
		http.Error(w, err.Error(), status)
		return
	}
	message, encodeErr := json.Marshal(strings.ToValidUTF8(err.Error(), "?"))
	if encodeErr != nil { // a string always has a JSON form
		panic(encodeErr)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that does not take it has gone.
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%s}}`+"\n", message)
}
