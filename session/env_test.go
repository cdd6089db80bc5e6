package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A client that has stored an object leaves it: see TestMain of eventbus.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// turns is a model that plays answers: the nth call of a conversation gets the
// nth one.
type turns []func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool)

func (turns) Name() string { return "turns" }

func (m turns) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		n := 0
		for _, msg := range req.Messages {
			if msg.Role == model.Assistant {
				n++
			}
		}
		m[min(n, len(m)-1)](ctx, req, yield)
	}
}

func say(text string) func(context.Context, *model.Request, func(model.Part, error) bool) {
	return parts(model.TextDelta{Text: text}, model.Usage{InputTokens: 10, OutputTokens: 2}, model.Stop{Reason: model.StopEnd})
}

func calls(calls ...model.ToolCall) func(context.Context, *model.Request, func(model.Part, error) bool) {
	var all []model.Part
	for _, c := range calls {
		all = append(all, c)
	}
	return parts(append(all, model.Usage{InputTokens: 5, OutputTokens: 1}, model.Stop{Reason: model.StopToolCalls})...)
}

func parts(parts ...model.Part) func(context.Context, *model.Request, func(model.Part, error) bool) {
	return func(_ context.Context, _ *model.Request, yield func(model.Part, error) bool) {
		for _, p := range parts {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func fail(err error) func(context.Context, *model.Request, func(model.Part, error) bool) {
	return func(_ context.Context, _ *model.Request, yield func(model.Part, error) bool) {
		if yield(model.TextDelta{Text: "I was about to"}, nil) {
			yield(nil, err)
		}
	}
}

func hang(ctx context.Context, _ *model.Request, yield func(model.Part, error) bool) {
	<-ctx.Done()
	yield(nil, ctx.Err())
}

// fakeTool is a tool whose value is its argument "v".
type fakeTool struct {
	name string
	run  func(ctx context.Context, call *tool.Call) (tool.Result, error)
}

func (f *fakeTool) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: "a tool", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (*fakeTool) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call it", call.Args)
}

func (f *fakeTool) Values(args json.RawMessage) ([]permission.Value, error) {
	var in struct{ V string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if in.V == "" {
		return nil, errors.New("v is missing")
	}
	return []permission.Value{{Tool: f.name, Text: in.V}}, nil
}

func (f *fakeTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	return f.run(ctx, call)
}

func echo(name string) *fakeTool {
	return &fakeTool{name, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		return tool.Result{Text: name + " " + string(call.Args)}, nil
	}}
}

func call(id, name, v string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: fmt.Sprintf(`{"v":%q}`, v)}
}

// static are static rules in memory.
type static struct {
	mu    sync.Mutex
	rules *permission.Ruleset
	added []string
}

func (s *static) Rules() (*permission.Ruleset, error) { return s.rules, nil }

func (s *static) Allow(tool string, patterns []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range patterns {
		s.added = append(s.added, tool+" "+p)
	}
	return nil
}

func rule(tool, pattern string, action permission.Action) permission.Rule {
	return permission.Rule{Tool: tool, Pattern: pattern, Action: action, Source: permission.Source{File: "rules", Line: 1}}
}

// env is a manager on a real bus.
type env struct {
	*session.Manager
	t      *testing.T
	bus    *eventbus.Bus
	static *static
}

func newEnv(t *testing.T, m model.Model, change func(*session.Options)) *env {
	t.Helper()
	e := newEnvOn(t, eventbus.Options{StoreDir: t.TempDir()}, m, change)
	// Without the lease, Recover treats open sessions as those of a dead process. A test about
	// processes makes another manager.
	if err := session.EndLease(t.Context(), e.Manager); err != nil {
		t.Fatal(err)
	}
	return e
}

// newEnvOn returns an environment whose manager keeps its lease.
func newEnvOn(t *testing.T, at eventbus.Options, m model.Model, change func(*session.Options)) *env {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), "ws", &at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &env{t: t, bus: bus, static: &static{rules: permission.MustRuleset(rule("*", "*", permission.Allow))}}
	opts := session.Options{
		Bus:       bus,
		Workspace: permission.Workspace{Root: t.TempDir()},
		Static:    e.static,
		RulesFile: "permissions.jsonc",
		Model:     func(string) (model.Model, error) { return m, nil },
	}
	if change != nil {
		change(&opts)
	}
	if opts.Limits.Retries == 0 {
		opts.Limits.Retries = -1 // what a test's model says counts
	}
	if e.Manager, err = session.OpenManager(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	e.Store().Recovery.StopGrace = time.Minute
	t.Cleanup(func() { _ = e.Close() }) // of a store that a test has broken it fails
	return e
}

// open begins a session. Others find it in the store.
func (e *env) open(spec session.Spec) *session.Session {
	e.t.Helper()
	if spec.Agent == "" {
		spec.Agent = "agent"
	}
	s, err := e.Open(e.t.Context(), spec)
	if err == nil {
		err = s.AwaitStored(e.t.Context())
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

func (e *env) end(s *session.Session, out session.Outcome) {
	e.t.Helper()
	if err := s.End(out.Status, out.Err); err != nil {
		e.t.Fatal(err)
	}
}

// events returns the session's own events.
func (e *env) events(s *session.Session) []event.Event {
	e.t.Helper()
	var events []event.Event
	for d, err := range e.bus.Follow(e.t.Context(), s.Path(), nil) {
		if err != nil {
			e.t.Fatal(err)
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			e.t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func types(events []event.Event) string {
	var out []string
	for _, ev := range events {
		name := ev.Type()
		if st, ok := ev.(event.StatusChange); ok {
			name = "=" + string(st.Status)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}
