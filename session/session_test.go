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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	// Without its lease, what it has not ended is to Recover that of a process
	// that has gone. A test that is about processes makes another manager.
	if err := e.Close(); err != nil {
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
	if e.Manager, err = session.NewManager(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *env) open(spec session.Spec) *session.Session {
	e.t.Helper()
	if spec.Agent == "" {
		spec.Agent = "agent"
	}
	s, err := e.Open(e.t.Context(), spec)
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
	for d, err := range e.bus.Follow(e.t.Context(), s.Path(), eventbus.FollowOptions{}) {
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

func TestTurn(t *testing.T) {
	var seen *model.Request
	m := turns{
		calls(call("1", "a", "x"), call("2", "b", "y")),
		func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			seen = req
			say("done")(ctx, req, yield)
		},
	}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{System: "be good", Tools: []tool.Tool{echo("a"), echo("b")}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Status != session.Completed || out.Text != "done" || out.Err != nil {
		t.Fatalf("outcome %+v", out)
	}
	want := []model.Message{
		{Role: model.User, Text: "go"},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "a", "x"), call("2", "b", "y")}},
		{Role: model.User, ToolResults: []model.ToolResult{
			{ToolCallID: "1", Text: `a {"v":"x"}`}, {ToolCallID: "2", Text: `b {"v":"y"}`},
		}},
	}
	if got := fmt.Sprint(seen.Messages); got != fmt.Sprint(want) || seen.System != "be good" || len(seen.Tools) != 2 {
		t.Errorf("the second call got %s\nwant %v", got, want)
	}
	stored, err := e.Store().Messages(t.Context(), s.ID())
	if err != nil || len(stored) != 4 || stored[3].Text != "done" {
		t.Errorf("stored messages: %d, %v", len(stored), err)
	}
	got := types(e.events(s))
	wantEvents := "session_start =queued =streaming usage =executing_tool tool_call_start tool_call_start " +
		"tool_call_end tool_call_end =streaming content_delta usage =idle turn_complete session_end"
	if got != wantEvents {
		t.Errorf("events:\n%s\nwant:\n%s", got, wantEvents)
	}
	r, err := e.Store().Get(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != session.Completed || r.Steps != 2 || r.Usage.InputTokens != 15 || r.Usage.OutputTokens != 3 ||
		r.StartedAt.IsZero() || r.EndedAt.Before(r.StartedAt) || r.BootID == "" {
		t.Errorf("record %+v", r)
	}
}

func TestToolsRunSideBySide(t *testing.T) {
	const n = 5
	var all sync.WaitGroup
	all.Add(n)
	meet := &fakeTool{"meet", func(context.Context, *tool.Call) (tool.Result, error) {
		all.Done()
		all.Wait() // returns only once all n run
		return tool.Result{Text: "met"}, nil
	}}
	var step []model.ToolCall
	for i := range n {
		step = append(step, call(fmt.Sprint(i), "meet", "x"))
	}
	e := newEnv(t, turns{calls(step...), say("ok")}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{meet}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Text != "ok" {
		t.Errorf("outcome %+v", out)
	}
}

func TestStepsUsedUp(t *testing.T) {
	var last *model.Request
	again := 0
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		last = req
		if req.NoToolCalls {
			say("that is all I have")(ctx, req, yield)
			return
		}
		again++
		calls(call("same", "a", "x"))(ctx, req, yield) // an id used again
	}}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}, MaxSteps: 3})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Text != "that is all I have" || again != 3 {
		t.Fatalf("after %d steps: %+v", again, out)
	}
	final := last.Messages[len(last.Messages)-1]
	if !strings.Contains(final.Text, "Conclude now") || len(final.ToolResults) != 1 || len(last.Tools) != 1 {
		t.Errorf("the last request ends in %+v", final)
	}
	ids := make(map[string]bool)
	for _, ev := range e.events(s) {
		if start, ok := ev.(event.ToolCallStart); ok {
			if ids[start.ToolCallID] {
				t.Errorf("the tool call id %s stands for two calls", start.ToolCallID)
			}
			ids[start.ToolCallID] = true
		}
	}
}

func TestEnds(t *testing.T) {
	boom := &fakeTool{"boom", func(context.Context, *tool.Call) (tool.Result, error) { panic("boom") }}
	broken := &fakeTool{"broken", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("it is broken")
	}}
	stuck := &fakeTool{"stuck", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	tools := []tool.Tool{boom, broken, stuck, echo("a")}
	result := func(want string) func(context.Context, *model.Request, func(model.Part, error) bool) {
		return func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			r := req.Messages[len(req.Messages)-1].ToolResults[0]
			if !r.IsError || !strings.Contains(r.Text, want) {
				say(fmt.Sprintf("got %+v, want an error with %q", r, want))(ctx, req, yield)
				return
			}
			say("fine")(ctx, req, yield)
		}
	}
	tests := []struct {
		name   string
		model  turns
		limit  time.Duration
		status session.Status
		text   string // of the answer or the error
		code   string // of the error event
	}{
		{name: "a tool's error", model: turns{calls(call("1", "broken", "x")), result("it is broken")}, status: session.Completed, text: "fine"},
		{name: "a tool's panic", model: turns{calls(call("1", "boom", "x")), result("internal error: boom")}, status: session.Completed, text: "fine"},
		{name: "a tool's time limit", model: turns{calls(call("1", "stuck", "x")), result("time limit of 20ms")}, status: session.Completed, text: "fine"},
		{name: "an unknown tool", model: turns{calls(call("1", "nosuch", "x")), result("there are: boom, broken, stuck, a")}, status: session.Completed, text: "fine"},
		{name: "arguments that are no JSON", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `{"v":`}), result("no JSON object")}, status: session.Completed, text: "fine"},
		{name: "arguments that are null", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `null`}), result("no JSON object")}, status: session.Completed, text: "fine"},
		{name: "arguments the tool refuses", model: turns{calls(model.ToolCall{ID: "1", Name: "a", Arguments: `{}`}), result("v is missing")}, status: session.Completed, text: "fine"},
		{name: "a model error", model: turns{fail(&model.Error{Model: "m", Kind: model.ErrRateLimited, Message: "slow down", Status: 429})}, status: session.Failed, text: "slow down", code: "model_rate_limited"},
		{name: "no stop", model: turns{parts(model.TextDelta{Text: "x"})}, status: session.Failed, text: "without a stop reason", code: "model_protocol"},
		{name: "no answer", model: turns{parts(model.Stop{Reason: model.StopEnd})}, status: session.Failed, text: "without an answer", code: "failed"},
		{name: "a refusal", model: turns{parts(model.TextDelta{Text: "no."}, model.Stop{Reason: model.StopRefusal})}, status: session.Failed, text: "refused to answer: no.", code: "failed"},
		{name: "an answer cut off", model: turns{parts(model.TextDelta{Text: "so"}, model.Stop{Reason: model.StopMaxTokens})}, status: session.Completed, text: "so\n\n[The answer was cut off here"},
		{name: "the model call's limit", model: turns{hang}, status: session.Failed, text: "no complete answer within 50ms", code: "model_timeout"},
		{name: "the session's limit in a model call", model: turns{hang}, limit: 5 * time.Millisecond, status: session.TimedOut, text: "time limit of 5ms", code: "timed_out"},
		{name: "the session's limit in a tool", model: turns{calls(call("1", "stuck", "x")), say("no")}, limit: 5 * time.Millisecond, status: session.TimedOut, text: "time limit of 5ms", code: "timed_out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t, tt.model, func(o *session.Options) {
				o.Limits = session.Limits{ModelCall: 50 * time.Millisecond, ToolCall: 20 * time.Millisecond}
			})
			s := e.open(session.Spec{Tools: tools, TimeLimit: tt.limit})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			got := out.Text
			if out.Err != nil {
				got = out.Err.Error()
			}
			if out.Status != tt.status || !strings.Contains(got, tt.text) {
				t.Errorf("%s: %q, want %s: %q", out.Status, got, tt.status, tt.text)
			}
			code := ""
			events := e.events(s)
			for _, ev := range events {
				if ev, ok := ev.(event.Error); ok {
					code = ev.Code
				}
			}
			if code != tt.code {
				t.Errorf("error event %q, want %q", code, tt.code)
			}
			if last := events[len(events)-1]; last != event.Event(event.SessionEnd{Status: string(tt.status)}) {
				t.Errorf("the last event is %#v", last)
			}
		})
	}
}

// TestRetry: a model call that is made again is told of, with the wait.
func TestRetry(t *testing.T) {
	again := parts(model.Retry{Reason: model.ErrRateLimited, Try: 2, Tries: 3, Wait: 45 * time.Second},
		model.TextDelta{Text: "at last"}, model.Stop{Reason: model.StopEnd})
	e := newEnv(t, turns{again}, nil)
	s := e.open(session.Spec{})
	e.end(s, s.Prompt(t.Context(), "go"))
	for _, ev := range e.events(s) {
		if ev, ok := ev.(event.StatusChange); ok && ev.Retry != nil {
			if want := (event.Retry{Reason: "rate_limited", Try: 2, Tries: 3, DelayMs: 45_000}); *ev.Retry != want || ev.Status != event.StatusStreaming {
				t.Errorf("got %s %+v, want %+v", ev.Status, *ev.Retry, want)
			}
			return
		}
	}
	t.Error("no event tells of the retry")
}

// TestCancel: whatever the session is doing, the end of its context ends it.
func TestCancel(t *testing.T) {
	started := make(chan struct{}, 1)
	slow := func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		started <- struct{}{}
		hang(ctx, req, yield)
	}
	stuck := &fakeTool{"stuck", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	asked := session.ApproverFunc(func(ctx context.Context, _ *session.ApprovalRequest) (session.Answer, error) {
		started <- struct{}{}
		<-ctx.Done()
		return session.Answer{}, ctx.Err()
	})
	for name, tt := range map[string]struct {
		model turns
		rules permission.Action
	}{
		"streaming":            {turns{slow}, permission.Allow},
		"executing a tool":     {turns{calls(call("1", "stuck", "x")), say("no")}, permission.Allow},
		"waiting for approval": {turns{calls(call("1", "stuck", "x")), say("no")}, permission.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, tt.model, func(o *session.Options) { o.Approver = asked })
			e.static.rules = permission.MustRuleset(rule("*", "*", tt.rules))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := e.open(session.Spec{Tools: []tool.Tool{stuck}})
			ended := make(chan session.Outcome)
			go func() { ended <- s.Prompt(ctx, "go") }()
			<-started
			cancel()
			out := <-ended
			e.end(s, out)
			if out.Status != session.Cancelled {
				t.Errorf("outcome %+v", out)
			}
			if got := types(e.events(s)); !strings.HasSuffix(got, "=aborted session_end") {
				t.Errorf("events %s", got)
			}
		})
	}
}

func TestEndedStaysEnded(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	s := e.open(session.Spec{Agent: "a", Tools: []tool.Tool{echo("a")}})
	if _, live := e.Live(s.ID()); !live {
		t.Error("the session is not live")
	}
	e.end(s, session.Outcome{Status: session.Completed})
	if _, live := e.Live(s.ID()); live {
		t.Error("the session is live after its end")
	}
	if err := s.End(session.Failed, nil); !errors.Is(err, session.ErrEnded) {
		t.Errorf("a second end: %v", err)
	}
	if out := s.Prompt(t.Context(), "go"); out.Status != session.Failed || !errors.Is(out.Err, session.ErrEnded) {
		t.Errorf("a prompt after the end: %+v", out)
	}
	if _, err := s.Call(t.Context(), "a", json.RawMessage(`{"v":"x"}`)); !errors.Is(err, session.ErrEnded) {
		t.Errorf("a call after the end: %v", err)
	}
	if got := types(e.events(s)); got != "session_start =queued session_end" {
		t.Errorf("events %s", got)
	}
}

// TestBrokenStore: a session whose events can't be stored fails, and says so.
func TestBrokenStore(t *testing.T) {
	var e *env
	breaks := &fakeTool{"breaks", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Text: "closed"}, e.bus.Close()
	}}
	e = newEnv(t, turns{calls(call("1", "breaks", "x")), say("done")}, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{breaks}})
	out := s.Prompt(t.Context(), "go")
	if out.Status != session.Failed || out.Err == nil {
		t.Errorf("outcome %+v", out)
	}
	if err := s.End(out.Status, out.Err); err == nil {
		t.Error("the end was stored in a closed store")
	}
}

func TestRecover(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	root := e.open(session.Spec{Agent: "primary"})
	child := e.open(session.Spec{Agent: "explore", Parent: root})
	done := e.open(session.Spec{Agent: "explore", Parent: root})
	e.end(done, done.Prompt(t.Context(), "go"))

	// What a killed process leaves: records that never reached their end.
	n, err := e.Store().Recover(t.Context())
	if err != nil || n != 2 {
		t.Fatalf("Recover: %d sessions, %v, want 2", n, err)
	}
	for _, s := range []*session.Session{root, child} {
		r, err := e.Store().Get(t.Context(), s.ID())
		if err != nil || r.Status != session.Interrupted || r.Error == "" || r.EndedAt.IsZero() {
			t.Errorf("after recovery: %+v, %v", r, err)
		}
		if err := s.End(session.Completed, nil); err == nil {
			t.Error("an interrupted session was completed")
		}
	}
	events := e.events(root)
	last := events[len(events)-1]
	if last != event.Event(event.SessionEnd{Status: "interrupted"}) {
		t.Errorf("the root's last event is %#v", last)
	}
	ends := 0
	for _, ev := range events {
		if env, ok := ev.(event.SubagentEvent); ok && env.SessionID == child.ID() && string(env.Event) == `{"type":"session_end","status":"interrupted"}` {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the root's stream shows %d ends of the child, want 1", ends)
	}
	if n, err := e.Store().Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("a second Recover: %d, %v", n, err)
	}
}

func TestStoreGet(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	a, b := e.open(session.Spec{}), e.open(session.Spec{})
	if r, err := e.Store().Get(t.Context(), a.ID()[:10]); err != nil || r.ID != a.ID() {
		t.Errorf("by the start of its id: %v, %v", r, err)
	}
	if _, err := e.Store().Get(t.Context(), "ses_"); err == nil || !strings.Contains(err.Error(), "give more") {
		t.Errorf("by a start that two ids have: %v", err)
	}
	for _, id := range []string{"", "nope", "a.b", "*", ">", "a b"} {
		if r, err := e.Store().Get(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Get(%q) = %v, %v, want ErrNotFound", id, r, err)
		}
	}
	records, err := e.Store().List(t.Context())
	if err != nil || len(records) != 2 || records[0].ID != b.ID() {
		t.Errorf("List: %d records, %v", len(records), err)
	}
	records[0].Schema = 99
	data, err := json.Marshal(records[0])
	if err != nil {
		t.Fatal(err)
	}
	kv, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "ws."+b.ID(), data); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store().Get(t.Context(), b.ID()); err == nil || !strings.Contains(err.Error(), "newer worker") {
		t.Errorf("a record of schema 99: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	if _, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("a"), echo("a")}}); err == nil {
		t.Error("two tools of one name were accepted")
	}
}
