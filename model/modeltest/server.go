package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// closeWait is how long Close waits for the requests that are still open.
const closeWait = 10 * time.Second

// maxBody is the size in bytes of the largest request that is read, which is
// the Messages API's limit.
const maxBody = 32 << 20

// Options configures a Server. The zero value is ready to use.
type Options struct {
	Key        string // the API key that a request must carry; empty means any or none
	Split      int    // an answer is sent in pieces of so many bytes; 0 means an event each
	Transcript []byte // the answer to every request, instead of the script's
	CutAfter   int    // the connection breaks after so many bytes of Transcript; 0 means it does not
}

// Received is a request that a Server got.
type Received struct {
	Path    string
	Header  http.Header
	Body    []byte
	Attempt int            // 0 for the first attempt of a call, as the client counts
	Model   string         // the model's name; empty if the request is malformed
	Request *model.Request // what the request says; nil if it is malformed
}

// Server speaks the wire formats of the providers. It keeps no place in its
// script: any number of conversations can share it.
type Server struct {
	URL string // such as "http://127.0.0.1:41234", without a path

	script  replaymodel.Script
	opts    Options
	http    *httptest.Server
	closing chan struct{} // closed: answers that hang end

	mu       sync.Mutex
	received []Received
	open     int           // requests that are being answered
	changed  chan struct{} // closed and made anew when one of the two changes
}

// Start starts a server that plays script. Nil options are the zero Options.
func Start(script replaymodel.Script, opts *Options) *Server {
	s := &Server{script: script, closing: make(chan struct{}), changed: make(chan struct{})}
	if opts != nil {
		s.opts = *opts
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// New starts a server as Start does, and closes it when the test ends. The test
// fails if a request is still open then.
func New(t testing.TB, script replaymodel.Script, opts *Options) *Server {
	t.Helper()
	s := Start(script, opts)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Close waits for the requests that are open and stops the server. Requests
// that stay open for ten seconds are an error: a client that gives up a call is
// to close its connection.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	err := s.await(ctx, func() bool { return s.open == 0 })
	if err != nil {
		err = fmt.Errorf("model server: requests are still open, their client has not closed the connection: %w", err)
	}
	close(s.closing)
	s.http.Close()
	return err
}

// Received returns the requests so far, in the order of their arrival.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Await waits until n requests have arrived.
func (s *Server) Await(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.received) >= n })
}

// AwaitIdle waits until no request is being answered.
func (s *Server) AwaitIdle(ctx context.Context) error {
	return s.await(ctx, func() bool { return s.open == 0 })
}

func (s *Server) await(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := done(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change changes what mu guards and wakes those who wait for it.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.change(func() { s.open++ })
	defer s.change(func() { s.open-- })
	var wire wireFormat = openaiWire{}
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		wire = anthropicWire{}
	case strings.HasSuffix(r.URL.Path, "/responses"):
		wire = responsesWire{}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		wire.refuse(w, http.StatusRequestEntityTooLarge, "the request exceeds the maximum size: "+err.Error())
		return
	}
	got := Received{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	got.Attempt, _ = strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	parsed, refused := s.read(wire, r, body)
	if parsed != nil {
		got.Model, got.Request = parsed.model, parsed.Request
	}
	s.change(func() { s.received = append(s.received, got) })
	if refused != nil {
		wire.refuse(w, refused.status, refused.message)
		return
	}
	s.answer(w, r, wire, parsed, got.Attempt)
}

// refusal is what a provider answers to a request that it does not accept.
type refusal struct {
	status  int
	message string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// read checks a request and returns what it says.
func (s *Server) read(wire wireFormat, r *http.Request, body []byte) (*parsed, *refusal) {
	switch path := strings.TrimPrefix(r.URL.Path, "/v1"); {
	case path != "/messages" && path != "/chat/completions" && path != "/responses":
		return nil, refuse(http.StatusNotFound, "not found: %s", r.URL.Path)
	case r.Method != http.MethodPost:
		return nil, refuse(http.StatusMethodNotAllowed, "method not allowed: %s", r.Method)
	}
	if s.opts.Key != "" && wire.key(r.Header) != s.opts.Key {
		return nil, refuse(http.StatusUnauthorized, "invalid api key: %s", wire.key(r.Header))
	}
	return wire.parse(r.Header, bytes.TrimSpace(body))
}

// answer answers a request that has been accepted.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, wire wireFormat, req *parsed, attempt int) {
	out := &stream{w: w, r: r, split: s.opts.Split, closing: s.closing, header: wire.header()}
	if transcript := s.opts.Transcript; transcript != nil {
		if cut := s.opts.CutAfter; cut > 0 && cut < len(transcript) {
			out.send(transcript[:cut])
			out.cut()
		}
		out.send(transcript)
		return
	}
	turn, err := s.script.Turn(req.Request)
	if err != nil {
		wire.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	content := wire.content(req, &turn)
	if fail := turn.Error; fail != nil && fail.Status != 0 {
		first := fail.Times > 0 && attempt < fail.Times
		if first || fail.Times == 0 && len(content) == 0 {
			w.Header().Set("Retry-After-Ms", strconv.Itoa(fail.RetryAfterMs))
			w.Header().Set("Retry-After", strconv.Itoa((fail.RetryAfterMs+999)/1000))
			wire.refuse(w, fail.Status, fail.Message)
			return
		}
	}
	delay := time.Duration(turn.DelayMs) * time.Millisecond
	out.send(wire.begin(req, &turn))
	for _, event := range content {
		out.wait(delay)
		out.send(event)
	}
	switch {
	case turn.Hang:
		out.hang()
	case turn.Cut:
		out.cut()
	case turn.Error != nil && turn.Error.Times == 0:
		out.send(wire.failure(turn.Error))
	default:
		out.send(wire.end(req, &turn))
	}
}
