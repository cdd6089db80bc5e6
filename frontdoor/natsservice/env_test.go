package natsservice_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modelFunc is a model made of a function.
type modelFunc func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error

func (modelFunc) Name() string { return "func" }

func (f modelFunc) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := f(ctx, req, func(p model.Part) bool { return yield(p, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// answer is a model that says a text.
func answer(text string) modelFunc {
	return func(_ context.Context, _ *model.Request, yield func(model.Part) bool) error {
		_ = yield(model.TextDelta{Text: text}) && yield(model.Stop{Reason: model.StopEnd})
		return nil
	}
}

// gate is a model whose answers wait until they are let through.
type gate struct {
	started chan struct{} // takes a value for each answer that has begun
	open    chan struct{} // closed: answer
}

func newGate() *gate { return &gate{make(chan struct{}, 10), make(chan struct{})} }

func (g *gate) model(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	g.started <- struct{}{}
	select {
	case <-g.open:
		return answer("through")(ctx, req, yield)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// allowAll are rules that allow all but the tool touch, which they ask about.
type allowAll struct{}

func (allowAll) Rules() (*permission.Ruleset, error) {
	return permission.NewRuleset(
		permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow},
		permission.Rule{Tool: "touch", Pattern: "*", Action: permission.Ask},
	)
}
func (allowAll) Allow(string, []string) error { return nil }

// env is a NATS server of its own, a worker that uses it, and a client that
// knows nothing but the server's address.
type env struct {
	*worker
	t      testing.TB
	client *nats.Conn
}

const taskSubject = "agents.v1.ws.service.task"

func newEnv(t testing.TB, m modelFunc, opts natsservice.Options) *env {
	t.Helper()
	url := newServer(t)
	w := newWorker(t, url, m, taskt.Limits{}, opts)
	return &env{w, t, connect(t, url)}
}

// newServer starts a NATS server and returns its address.
func newServer(t testing.TB) string {
	t.Helper()
	return natstest.Start(t, server.Options{MaxPayload: 64 << 10}).ClientURL()
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	client, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// touch is a tool that says it was called.
type touch struct{}

func (touch) Spec() tool.Spec {
	return tool.Spec{Name: "touch", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (touch) Values(json.RawMessage) ([]permission.Value, error) {
	return []permission.Value{{Tool: "touch", Text: "it"}}, nil
}

func (touch) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Text: "touched"}, nil
}

// worker is one that serves a workspace on a NATS server.
type worker struct {
	bus      *eventbus.Bus
	sessions *store.Store
	service  *natsservice.Service
	stop     context.CancelFunc
}

func newWorker(t testing.TB, url string, m modelFunc, limits taskt.Limits, opts natsservice.Options) *worker {
	t.Helper()
	return newWorkerOf(t, "ws", url, m, limits, opts)
}

func newWorkerOf(t testing.TB, workspace, url string, m modelFunc, limits taskt.Limits, opts natsservice.Options) *worker {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), workspace, &eventbus.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	agents, err := agentdefs.Open(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := session.OpenManager(t.Context(), session.Options{
		Bus: bus, Static: allowAll{}, Model: func(string) (model.Model, error) { return m, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if opts.Tasks, err = taskt.New(taskt.Options{Sessions: manager, Agents: agents, Root: root, Tools: []tool.Tool{touch{}}, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	opts.Bus, opts.Sessions = bus, manager.Store()
	ctx, stop := context.WithCancel(context.Background())
	service, err := natsservice.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(service.Wait(), manager.Close(), bus.Close()); err != nil {
			t.Error(err)
		}
		agents.Close()
	})
	return &worker{bus, manager.Store(), service, stop}
}

const (
	call       = `{"description":"a look","prompt":"look","agentType":"explore"}`
	background = `{"description":"a look","prompt":"look","agentType":"explore","background":true}`
)

// request returns the answer to a request; an empty one if there is none.
func (e *env) request(subject, body string, header nats.Header) *nats.Msg {
	e.t.Helper()
	msg, err := e.client.RequestMsg(&nats.Msg{Subject: subject, Data: []byte(body), Header: header}, time.Minute)
	if err != nil {
		e.t.Errorf("%s %.60s: %v", subject, body, err)
		return new(nats.Msg)
	}
	return msg
}

func decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}
