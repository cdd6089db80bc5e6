package natsservice_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/upkeep"
)

func TestMain(m *testing.M) { doortest.Main(m) }

// modelFunc is a model made of a function.
type modelFunc = modeltest.Func

// answer is a model that says a text.
func answer(text string) modelFunc { return modeltest.Say(text) }

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

// env is a NATS server of its own, a worker that uses it, and a client that
// knows nothing but the server's address.
type env struct {
	*worker
	t       testing.TB
	client  *nats.Conn
	answers map[string]*jsonschema.Resolved // schemas, by subjects; nil means they are not looked at
}

const taskSubject = "agents.v1.ws.service.task"

func newEnv(t testing.TB, m modelFunc, opts natsservice.Options, changes ...func(*session.Options)) *env {
	t.Helper()
	url := newServer(t)
	w := newWorkerOf(t, "ws", url, m, taskt.Limits{}, opts, changes...)
	return (&env{worker: w, t: t, client: natstest.Connect(t, url)}).learn()
}

// newServer starts a NATS server and returns its address.
func newServer(t testing.TB) string {
	t.Helper()
	return natstest.Start(t, server.Options{MaxPayload: 64 << 10}).ClientURL()
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

func newWorkerOf(t testing.TB, workspace, url string, m modelFunc, limits taskt.Limits, opts natsservice.Options, changes ...func(*session.Options)) *worker {
	t.Helper()
	w := doortest.Open(t, workspace, eventbus.Options{URL: url}, m, limits, changes...)
	opts.Bus, opts.Tasks, opts.Sessions = w.Bus, w.Tasks, w.Sessions.Store()
	opts.Upkeep = &upkeep.Upkeep{Sessions: opts.Sessions, Worktrees: worktree.Open(filepath.Join(t.TempDir(), "worktrees")), Summarise: w.Tasks.Summarise}
	ctx, stop := context.WithCancel(context.Background())
	service, err := natsservice.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(service.Wait(), w.Sessions.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return &worker{w.Bus, w.Sessions.Store(), service, stop}
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
	if schema := e.answers[subject]; schema != nil && msg.Header.Get(micro.ErrorCodeHeader) == "" {
		if err := schema.Validate(decode[any](e.t, msg.Data)); err != nil {
			e.t.Errorf("the answer of %s is not as its schema says: %v\n%s", subject, err, msg.Data)
		}
	}
	return msg
}

// learn notes the schemas of answers, which all later ones are held against.
func (e *env) learn() *env {
	e.t.Helper()
	answers := make(map[string]*jsonschema.Resolved)
	for _, ep := range decode[micro.Info](e.t, e.request("$SRV.INFO.agentworker", "", nil).Data).Endpoints {
		answers[ep.Subject] = resolve(e.t, ep.Metadata["response_schema"])
	}
	e.answers = answers
	return e
}

// resolve reads a schema.
func resolve(t testing.TB, text string) *jsonschema.Resolved {
	t.Helper()
	schema := decode[jsonschema.Schema](t, []byte(text))
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return resolved
}

func decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}
