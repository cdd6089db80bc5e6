package httpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/conversation"
	"github.com/agentworker/worker/taskt/upkeep"
)

func TestMain(m *testing.M) { doortest.Main(m) }

const token = "0123456789abcdef"

// modelFunc is a model made of a function.
type modelFunc = modeltest.Func

// answer is a model that says these pieces.
func answer(pieces ...string) modelFunc { return modeltest.Say(pieces...) }

// gate is a model whose answers wait until they are let through.
type gate struct {
	started chan struct{} // takes a value for each answer that has begun
	open    chan struct{} // closed: answer
	ended   chan error    // takes the context's error of each that was cancelled
}

func newGate() *gate {
	return &gate{started: make(chan struct{}, 10), open: make(chan struct{}), ended: make(chan error, 10)}
}

func (g *gate) model(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	if !yield(model.TextDelta{Text: "first "}) {
		return nil
	}
	g.started <- struct{}{}
	select {
	case <-g.open:
		return answer("second")(ctx, req, yield)
	case <-ctx.Done():
		g.ended <- ctx.Err()
		return ctx.Err()
	}
}

// env is a running server over a workspace with the built-in agents.
type env struct {
	t        testing.TB
	storeDir string
	bus      *eventbus.Bus
	tasks    *taskt.Service
	sessions *store.Store
	server   *httpserver.Server
	trees    *worktree.Store
	stop     context.CancelFunc
	client   *http.Client
}

func newEnv(t testing.TB, m modelFunc, opts httpserver.Options, changes ...func(*session.Options)) *env {
	t.Helper()
	return newEnvOf(t, m, taskt.Limits{}, opts, changes...)
}

func newEnvOf(t testing.TB, m modelFunc, limits taskt.Limits, opts httpserver.Options, changes ...func(*session.Options)) *env {
	t.Helper()
	storeDir := t.TempDir()
	audits := func(o *session.Options) { opts.Audit = o.Audit } // what a change before has set
	w := doortest.Open(t, "ws", eventbus.Options{StoreDir: storeDir}, m, limits, append(changes, audits)...)
	opts.Bus, opts.Tasks, opts.Sessions, opts.Token = w.Bus, w.Tasks, w.Sessions.Store(), token
	opts.Upkeep = &upkeep.Upkeep{Sessions: opts.Sessions, Worktrees: worktree.Open(filepath.Join(storeDir, "worktrees")), Summarise: w.Tasks.Summarise}
	opts.Snapshots = snapshot.New(filepath.Join(storeDir, "snapshots"))
	if opts.Page != nil {
		opts.Page.Talks = conversation.NewDesk(w.Tasks, w.Agents, opts.Sessions, slog.New(slog.DiscardHandler))
	}
	ctx, stop := context.WithCancel(context.Background())
	server, err := httpserver.Start(ctx, "127.0.0.1:0", opts)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		stop()
		err := server.Wait()
		if opts.Audit != nil {
			err = errors.Join(err, opts.Audit.Close())
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return &env{t, storeDir, w.Bus, w.Tasks, w.Sessions.Store(), server, opts.Upkeep.Worktrees, stop, &http.Client{Transport: transport}}
}

// request returns a request as a well-behaved client sends it.
func (e *env) request(method, path, body string) *http.Request {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), method, e.server.URL()+path, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do returns the answer to a request; an empty one if there is none.
func (e *env) do(r *http.Request) (*http.Response, []byte) {
	e.t.Helper()
	resp, err := e.client.Do(r)
	if err != nil {
		e.t.Error(err)
		return new(http.Response), nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	check(e.t, r, resp, body)
	return resp, body
}

const (
	call       = `{"description":"a look","prompt":"look","agentType":"explore"}`
	background = `{"description":"a look","prompt":"look","agentType":"explore","background":true}`
)

// run makes a call and returns its document.
func (e *env) run() taskt.Document {
	e.t.Helper()
	resp, body := e.do(e.request("POST", "/v1/tasks", call))
	if resp.StatusCode != http.StatusOK {
		e.t.Errorf("status %d: %s", resp.StatusCode, body)
		return taskt.Document{}
	}
	return decode[taskt.Document](e.t, body)
}

func decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// errorCode returns the code of an error's body.
func errorCode(t *testing.T, body []byte) string {
	t.Helper()
	return decode[struct {
		Error struct{ Code, Message string }
	}](t, body).Error.Code
}

// sse is one server-sent event.
type sse struct{ ID, Event, Data string }

// stream is an open answer of events.
type stream struct {
	t      testing.TB
	resp   *http.Response
	lines  *bufio.Scanner
	beats  int // comments seen
	resets int // of the page, seen
}

// open sends a request for events. The test's end closes the answer.
func (e *env) open(r *http.Request) *stream {
	e.t.Helper()
	r.Header.Set("Accept", "text/event-stream")
	resp, err := e.client.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		e.t.Fatalf("%s: status %d, %s", r.URL, resp.StatusCode, got)
	}
	check(e.t, r, resp, nil)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	return &stream{t: e.t, resp: resp, lines: lines}
}

// next returns the next event, and false at the end.
func (s *stream) next() (sse, bool) {
	s.t.Helper()
	var ev sse
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "":
			if ev != (sse{}) {
				return ev, true
			}
		case ":":
			s.beats++
		case "id":
			ev.ID = value
		case "event":
			ev.Event = value
		case "data":
			ev.Data = value
		default:
			s.t.Fatalf("line %q", s.lines.Text())
		}
	}
	return ev, false
}

// until returns the events up to the first of a type.
func (s *stream) until(text string) []sse {
	s.t.Helper()
	var events []sse
	for {
		ev, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended after %d events without %q", len(events), text)
		}
		if events = append(events, ev); ev.Event == text || strings.Contains(ev.Data, text) {
			return events
		}
	}
}

// rest returns the events up to the end of the stream.
func (s *stream) rest() []sse {
	s.t.Helper()
	var events []sse
	for {
		ev, ok := s.next()
		if !ok {
			return events
		}
		events = append(events, ev)
	}
}

// stored returns the stored stream of a session as events.
func (e *env) stored(id string) []sse {
	e.t.Helper()
	record, err := e.sessions.Index.Get(e.t.Context(), id)
	if err != nil {
		e.t.Fatal(err)
	}
	var events []sse
	for d, err := range e.bus.Follow(e.t.Context(), record.Path, nil) {
		if err != nil {
			e.t.Fatal(err)
		}
		events = append(events, sse{ID: itoa(d.Seq), Event: decode[struct{ Type string }](e.t, d.Raw).Type, Data: string(d.Raw)})
	}
	return events
}

// await returns a session's record once its stream has ended.
func (e *env) await(id string) *record.Record {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	record, err := e.sessions.Index.Get(ctx, id)
	if err != nil {
		e.t.Fatal(err)
	}
	for d, err := range e.bus.Follow(ctx, record.Path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			e.t.Fatal(err)
		}
		if bytes.HasPrefix(d.Raw, []byte(`{"type":"session_end"`)) {
			break
		}
	}
	if record, err = e.sessions.Index.Get(ctx, id); err != nil {
		e.t.Fatal(err)
	}
	return record
}
