package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	nameHeader    = "Mcp-Name"
)

// MaxBody bounds a request's body, in bytes.
const MaxBody = 4 << 20

// bytesPerCall is the memory for the arguments of a call where as many are open as may be:
// four times what task calls mostly have.
const bytesPerCall = 32 << 10

// Options configures a [Handler].
type Options struct {
	// Clients bounds the clients that are connected at once; 0 means 100. One more
	// replaces the client that has been idle the longest. It is refused if none is
	// idle.
	Clients int

	// Requests bounds the requests of one client that are open at once; 0 means twice Clients.
	Requests int

	// Calls bounds the calls of one client that run at once. It counts calls whose request was
	// broken off, too. 0 means Clients, and 1,000 at least.
	Calls int

	// Bytes bounds the bodies of the requests of all clients that are open at once, and the
	// arguments of the calls that run; 0 means 32 KiB for each of Clients, and 128 MiB at least. A body of 4 KiB is always taken.
	Bytes int

	// Idle is how long a client may be idle before its session ends: it sends
	// nothing, holds no stream open and has no call running. 0 means 30 min.
	Idle time.Duration

	// Grace is how long a client may take to read its last answers when its
	// session ends; 0 means 5 s.
	Grace time.Duration
}

func (opts *Options) withDefaults() Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Clients = cmp.Or(o.Clients, 100)
	o.Requests = cmp.Or(o.Requests, 2*o.Clients)
	o.Calls = cmp.Or(o.Calls, max(1000, o.Clients))
	o.Bytes = cmp.Or(o.Bytes, max(128<<20, o.Clients*bytesPerCall))
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	return o
}

// Handler serves MCP over streamable HTTP. The caller checks each request's
// token, address and origin before.
//
// Up to 2025-11-25 a client has a session of the protocol, and a root session with it. They
// begin with its initialize request, and end with its DELETE request, or when it has been
// idle for [Options.Idle]. A broken connection ends nothing: a client that comes back with
// the id of the last event it saw gets the rest.
//
// From 2026-07-28 on there are no sessions. A client whose requests have the handle that
// the server has given it with the answer to server/discover has a root session of its
// own. All others with the same name and version share one. Both end when they have been idle. A client
// reaches another one's call (to wait for it, read it, cancel it) only by its
// session id, which it is not told. A request that its client breaks off is
// cancelled, as the protocol says.
type Handler struct {
	backend   Backend
	opts      Options
	log       *slog.Logger
	stateful  *mcp.StreamableHTTPHandler
	stateless *mcp.StreamableHTTPHandler

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	ending sync.WaitGroup // clients that end, and the loop that ends idle ones

	handles handles

	mu      sync.Mutex
	shut    bool
	bytes   int                // of open requests, and of the arguments of calls that run
	clients map[*client]bool   // clients that take requests
	keys    map[string]*client // the same by session id, or by sessionlessKey
}

var _ http.Handler = (*Handler)(nil)

// New returns a handler for any number of clients; nil means the zero Options. End it with
// Close.
func New(backend Backend, opts *Options, log *slog.Logger) *Handler {
	h := &Handler{backend: backend, opts: opts.withDefaults(), log: log, clients: make(map[*client]bool), keys: make(map[string]*client)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	// The caller has checked address and origin: see Handler.
	common := mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: MaxBody, DisableLocalhostProtection: true}
	stateful, stateless := common, common
	stateful.EventStore = newReplay()
	stateless.Stateless = true
	stateless.PropagateRequestCancellation = true
	h.stateful = mcp.NewStreamableHTTPHandler(serverOf, &stateful)
	h.stateless = mcp.NewStreamableHTTPHandler(serverOf, &stateless)
	h.ending.Go(h.endIdle)
	return h
}

// clientKey is the key of the [client] in a request's context.
type clientKey struct{}

// serverOf returns the MCP server for the client of a request.
func serverOf(r *http.Request) *mcp.Server {
	if client, ok := r.Context().Value(clientKey{}).(*client); ok {
		return client.MCP()
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size := bodySize(r)
	if err := h.reserve(size); err != nil {
		refuse(w, err)
		return
	}
	defer h.release(size)
	if r.Header.Get(versionHeader) >= exttask.Sessionless {
		h.serveSessionless(w, r)
		return
	}
	if id := r.Header.Get(sessionHeader); id != "" {
		h.serveSession(w, r, id)
		return
	}
	h.serveNew(w, r)
}

// serveSession serves a request within a session.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, id string) {
	busy := 1
	if r.Method == http.MethodGet || r.Method == http.MethodDelete { // GET listens, DELETE ends the session
		busy = 0
	}
	client, err := h.known(id, busy)
	if err != nil {
		refuse(w, err)
		return
	}
	if r.Method == http.MethodDelete {
		h.exit(client, busy)
		h.stop(client)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.exit(client, busy)
	defer client.cutOff(w)()
	if r.Method == http.MethodPost {
		body, err := readBody(r)
		if err == nil {
			body, err = h.note(client, body)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	h.stateful.ServeHTTP(w, withClient(r, client))
}

// serveNew serves the initialize request, which begins a session. It refuses all
// others.
func (h *Handler) serveNew(w http.ResponseWriter, r *http.Request) {
	head, err := peek(r)
	if err == nil && (r.Method != http.MethodPost || head.Method != "initialize") {
		err = &httpError{status: http.StatusBadRequest, message: "a request needs the header " + sessionHeader + ", unless it is initialize"}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	client, err := h.made("", 1)
	if err != nil {
		refuse(w, err)
		return
	}
	defer func() {
		if !h.begun(client) { // the SDK refused the request
			h.stop(client)
		}
	}()
	defer h.exit(client, 1)
	defer client.cutOff(w)()
	h.stateful.ServeHTTP(w, withClient(r, client))
}

// serveSessionless serves a request of a version without sessions.
func (h *Handler) serveSessionless(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, &httpError{status: http.StatusMethodNotAllowed, message: fmt.Sprintf("from %s on there is POST alone", exttask.Sessionless)})
		return
	}
	head, err := peek(r)
	if err != nil {
		refuse(w, err)
		return
	}
	if err := errors.Join(head.checkName(r.Header), h.handles.check(head)); err != nil {
		refuse(w, err)
		return
	}
	busy := 1
	if head.Method == exttask.Listen {
		busy = 0
		w = exttask.Renaming{ResponseWriter: w}
	}
	client, err := h.made(h.sessionlessKey(head), busy)
	if err != nil {
		refuse(w, err)
		return
	}
	defer h.exit(client, busy)
	defer client.cutOff(w)()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(client.ended, cancel)()
	h.stateless.ServeHTTP(w, withClient(r.WithContext(ctx), client))
}

func withClient(r *http.Request, client *client) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), clientKey{}, client))
}

// head is the part of a request's body that is needed before it is served.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TaskID string `json:"taskId"`
		Meta   struct {
			ClientInfo mcp.Implementation `json:"io.modelcontextprotocol/clientInfo"`
			Handle     string             `json:"agentworker/handle"`
		} `json:"_meta"`
	} `json:"params"`
}

// sharedKey begins the keys of clients that share a root session.
const sharedKey = "sessionless "

// sessionlessKey returns the key of a client without a session. It contains a
// space, so it never equals a session id.
func (h *Handler) sessionlessKey(of head) string {
	if of.Params.Meta.Handle != "" {
		return "handle " + of.Params.Meta.Handle
	}
	return sharedKey + h.backend.ClientName(&of.Params.Meta.ClientInfo)
}

// peek reads a request's body and puts it back. The SDK refuses a body that is not
// a request.
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
	if found.Method == exttask.Listen {
		r.Body = io.NopCloser(bytes.NewReader(exttask.KeepIDsIn(body)))
	}
	return found, nil
}

// checkName refuses a request about a task whose header says another one: what stands
// before the server may have gone by the header. The SDK does so for its own methods.
func (of head) checkName(header http.Header) error {
	switch of.Method {
	case exttask.Get, exttask.Update, exttask.Cancel:
	default:
		return nil
	}
	if of.Params.TaskID != "" && header.Get(nameHeader) == of.Params.TaskID {
		return nil
	}
	return &httpError{
		status: http.StatusBadRequest, code: mcp.CodeHeaderMismatch, id: of.ID,
		message: fmt.Sprintf("the header %s of a request of %s is to be its taskId", nameHeader, of.Method),
	}
}

// bodySize returns how many bytes the body of a request may have in memory.
func bodySize(r *http.Request) int {
	if r.ContentLength < 0 { // it is not known
		return MaxBody
	}
	return int(min(r.ContentLength, MaxBody))
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch {
	case err != nil:
		return nil, &httpError{status: http.StatusBadRequest, message: fmt.Sprintf("reading the body: %v", err)}
	case len(body) > MaxBody:
		return nil, &httpError{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the body has more than %d bytes", MaxBody)}
	}
	return body, nil
}

// httpError is why a request is not served.
type httpError struct {
	status  int
	message string
	code    int             // of JSON-RPC; 0 means that of a server's own errors
	id      json.RawMessage // of the request; empty means it is not known
}

func (e *httpError) Error() string { return e.message }

// refuse answers as the SDKs do, with a JSON-RPC error. Its id is null if the request's is
// not known. A request of an ended session gets only the status: clients would treat a
// JSON-RPC error as the request's own, and try again for ever.
func refuse(w http.ResponseWriter, err error) {
	status, code, id := http.StatusInternalServerError, -32000, "null"
	if r, ok := errors.AsType[*httpError](err); ok {
		status, code = r.status, cmp.Or(r.code, code)
		if len(r.id) > 0 {
			id = string(r.id)
		}
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
	// If this fails, the client has disconnected.
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, message)
}
