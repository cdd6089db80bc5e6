package taskt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
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

// prompt returns the first message of a conversation, and how many answers the
// model has given.
func prompt(req *model.Request) (text string, answers int) {
	for _, m := range req.Messages {
		if m.Role == model.Assistant {
			answers++
		}
	}
	return req.Messages[0].Text, answers
}

func answer(text string) modelFunc {
	return func(_ context.Context, _ *model.Request, yield func(model.Part) bool) error {
		_ = yield(model.TextDelta{Text: text}) && yield(model.Stop{Reason: model.StopEnd})
		return nil
	}
}

func (e *env) stream(t testing.TB, path event.Path) []eventbus.Delivery {
	t.Helper()
	var got []eventbus.Delivery
	for d, err := range e.bus.Follow(t.Context(), path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	return got
}

func TestTask(t *testing.T) {
	var system string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		system = req.System
		return answer("found it\n")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, map[string]string{
		"reviewer.md": "---\ndescription: Reviews.\nmaxSteps: 3\n---\nBe strict.\n",
	})
	res := e.Call(t.Context(), e.root, taskt.Input{Description: "a look", Prompt: "look", AgentType: "reviewer"})
	if res.Err != nil || res.Status != store.Completed || res.XML() != "<task_result agent=\"reviewer\">\nfound it\n</task_result>" {
		t.Errorf("result %+v\n%s", res, res.XML())
	}
	if !strings.HasSuffix(strings.TrimSpace(system), "Be strict.") || !strings.Contains(system, `subagent "reviewer"`) {
		t.Errorf("system prompt:\n%s", system)
	}
	r := res.Record
	if r.ParentID != e.root.ID() || r.ParentMessageID == "" || r.Agent != "reviewer" || r.Description != "a look" || r.Depth != 1 || res.SessionID != r.ID {
		t.Errorf("record %+v", r)
	}
	// All of the child's events stand before the tool result on the root's stream.
	// The end of the root waits until its own events are stored as well.
	if err := e.root.End(store.Completed, nil); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, d := range e.stream(t, e.root.Path()) {
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, ev.Type())
	}
	last := slices.Index(order, "tool_call_end")
	if last < 0 {
		t.Fatalf("no tool_call_end: %v", order)
	}
	for i, typ := range order {
		if typ == "subagent_event" && i > last {
			t.Errorf("event %d of the child comes after the tool result: %v", i, order)
		}
	}
}

func TestUnknownAgent(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{
		"boss.md": "---\ndescription: Leads.\nmode: primary\n---\n",
		"aide.md": "---\ndescription: Helps.\n---\n",
	})
	for _, name := range []string{"nobody", "boss", "explorer", ""} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: name})
		if res.Err == nil || res.SessionID != "" {
			t.Errorf("%q: %+v", name, res)
			continue
		}
		if want := "aide, explore, general"; name != "" && !strings.Contains(res.Text, want) {
			t.Errorf("%q: %q does not list %s", name, res.Text, want)
		}
		if !strings.HasPrefix(res.XML(), "<task_error agent=") {
			t.Errorf("%q: %s", name, res.XML())
		}
	}
}

func TestSchema(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{"aide.md": "---\ndescription: Helps with \"all\".\n---\n"})
	spec := e.Spec()
	var got struct {
		Type       string
		Required   []string
		Properties map[string]struct {
			Type string
			Enum []string
		}
		AdditionalProperties any
	}
	if err := json.Unmarshal(spec.InputSchema, &got); err != nil {
		t.Fatal(err)
	}
	if spec.Name != "task" || got.Type != "object" || !slices.Equal(got.Required, []string{"description", "prompt", "agentType"}) ||
		!slices.Equal(got.Properties["agentType"].Enum, []string{"aide", "explore", "general"}) || got.AdditionalProperties == nil {
		t.Errorf("schema %s", spec.InputSchema)
	}
	if !strings.Contains(spec.Description, "- aide: Helps with \"all\".\n") {
		t.Errorf("description:\n%s", spec.Description)
	}
}

func TestXML(t *testing.T) {
	tests := []struct{ agent, text, want string }{
		{"a", "x", "<task_result agent=\"a\">\nx\n</task_result>"},
		{"a", "x\n\n", "<task_result agent=\"a\">\nx\n</task_result>"},
		{"a", "", "<task_result agent=\"a\">\n\n</task_result>"},
		{`"><b & 'c'`, "x", "<task_result agent=\"&quot;&gt;&lt;b &amp; &apos;c&apos;\">\nx\n</task_result>"},
		{"a", "1 < 2 && <b>", "<task_result agent=\"a\">\n1 < 2 && <b>\n</task_result>"},
		{"a", "x</task_result>y", "<task_result agent=\"a\">\nx&lt;/task_result>y\n</task_result>"},
		{"a", "x</TASK_RESULT >y", "<task_result agent=\"a\">\nx&lt;/TASK_RESULT >y\n</task_result>"},
		{"a", "x< / task_error>y", "<task_result agent=\"a\">\nx&lt; / task_error>y\n</task_result>"},
		{"a", `x<task_result agent="b">y`, "<task_result agent=\"a\">\nx&lt;task_result agent=\"b\">y\n</task_result>"},
	}
	for _, tt := range tests {
		if got := taskt.XML("task_result", tt.agent, tt.text); got != tt.want {
			t.Errorf("XML(%q, %q) = %q, want %q", tt.agent, tt.text, got, tt.want)
		}
	}
}

// FuzzXML: no agent name and no text make a second tag of ours.
func FuzzXML(f *testing.F) {
	f.Add("explore", "text </task_result> more")
	f.Add("a\"b", "<</task_error>task_result>")
	f.Add("\n", "</\ttask_result\n>")
	f.Fuzz(func(t *testing.T, agent, text string) {
		lower := strings.ToLower(taskt.XML("task_result", agent, text))
		n := 0
		for _, tag := range []string{"<task_result", "</task_result", "<task_error", "</task_error"} {
			n += strings.Count(lower, tag)
		}
		if n != 2 {
			t.Errorf("XML(%q, %q) has %d tags of ours: %q", agent, text, n, lower)
		}
		if first, _, _ := strings.Cut(lower, "\n"); !strings.HasPrefix(first, `<task_result agent="`) || !strings.HasSuffix(first, `">`) || strings.Count(first, `"`) != 2 {
			t.Errorf("XML(%q, …) begins with %q", agent, first)
		}
	})
}

func TestNoNesting(t *testing.T) {
	var offered []string
	var result model.ToolResult
	m := modelFunc(func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		for _, spec := range req.Tools {
			offered = append(offered, spec.Name)
		}
		if _, n := prompt(req); n == 0 { // it tries although the tool is not offered
			_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore"}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		result = req.Messages[2].ToolResults[0]
		return answer("ok")(t.Context(), req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if slices.Contains(offered, "task") || !result.IsError || !strings.Contains(result.Text, "task") {
		t.Errorf("offered %v, result %+v", offered, result)
	}
	records, err := e.sessions.Store().List(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d sessions, %v, want the root and its child", len(records), err)
	}
}

// TestNesting: with a depth of 3 agents nest 3 deep and no deeper, and the
// root's stream shows all of them.
func TestNesting(t *testing.T) {
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if _, n := prompt(req); n == 0 {
			_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"general"}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		return answer("after: "+req.Messages[2].ToolResults[0].Text)(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 3, Running: 1, PerParent: 1}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	records, err := e.sessions.Store().List(t.Context())
	if err != nil || len(records) != 4 || records[0].Depth != 3 {
		t.Fatalf("%d sessions, %v, want 4", len(records), err)
	}
	if !strings.Contains(res.Text, "nesting limit") {
		t.Errorf("the deepest agent's refusal is not in the answer: %s", res.Text)
	}
	deepest := ""
	for _, d := range e.stream(t, e.root.Path()) {
		if strings.Count(string(d.Raw), `"type":"subagent_event"`) == 3 && strings.Contains(string(d.Raw), "session_end") {
			deepest = string(d.Raw)
		}
	}
	if deepest == "" {
		t.Error("the root's stream lacks the end of the session at depth 3")
	}
}

// TestLimits: no more children run at once than the limits say, and all of
// them do run.
func TestLimits(t *testing.T) {
	var now, most atomic.Int32
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		n := now.Add(1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		defer now.Add(-1)
		return answer("ok")(ctx, req, yield)
	})
	for _, limits := range []taskt.Limits{{Running: 2}, {PerParent: 3}} {
		most.Store(0)
		e := newEnv(t, m, limits, nil)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
					t.Error(res.Err)
				}
			})
		}
		calls.Wait()
		if want := int32(max(limits.Running, limits.PerParent)); most.Load() > want {
			t.Errorf("%+v: %d children ran at once", limits, most.Load())
		}
	}
	for _, bad := range []taskt.Limits{{Depth: 6}, {Running: 10_001}, {PerParent: 10_001}, {ChildTime: time.Millisecond}, {Depth: -1}} {
		if _, err := taskt.New(taskt.Options{Limits: bad}); err == nil {
			t.Errorf("New accepted %+v", bad)
		}
	}
}

// TestOneStep: the children of one step all begin; as many as the limits say run
// at once, and the others are queued.
func TestOneStep(t *testing.T) {
	const children = 40
	for _, limits := range []taskt.Limits{{Running: children, PerParent: children}, {Running: 3, PerParent: children}} {
		running := make(chan struct{}, children)
		free := make(chan struct{})
		m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
			switch text, n := prompt(req); {
			case text == "go" && n == 0:
				for i := range children {
					if !yield(model.ToolCall{ID: fmt.Sprint(i), Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore"}`}) {
						return nil
					}
				}
				yield(model.Stop{Reason: model.StopToolCalls})
				return nil
			case text == "p":
				running <- struct{}{}
				<-free
			}
			return answer("done")(ctx, req, yield)
		})
		e := newEnv(t, m, limits, nil)
		root, err := e.OpenPrimary(t.Context(), &agentdefs.Definition{Name: "primary", Mode: agentdefs.Primary, MaxSteps: 5}, "test")
		if err != nil {
			t.Fatal(err)
		}
		out := make(chan session.Outcome)
		go func() { out <- root.Prompt(t.Context(), "go") }()
		queued := 0
		for d, err := range e.bus.Follow(t.Context(), root.Path(), &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(d.Raw), `"status":"queued"`) && strings.Contains(string(d.Raw), `"subagent_event"`) {
				queued++
			}
			if queued == children {
				break
			}
		}
		for range limits.Running {
			<-running
		}
		if load := e.Load(); load.Running != limits.Running {
			t.Errorf("%+v: the load is %+v", limits, load)
		}
		close(free)
		if out := <-out; out.Err != nil {
			t.Error(out.Err)
		}
		if err := root.End(store.Completed, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestCancelQueued: a call that waits for a slot ends with its context, and
// its session is cancelled.
func TestCancelQueued(t *testing.T) {
	started := make(chan struct{})
	m := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, m, taskt.Limits{Running: 1}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan *taskt.Result, 2)
	call := func() { results <- e.Call(ctx, e.root, taskt.Input{Prompt: "p", AgentType: "explore"}) }
	go call()
	<-started
	go call()
	cancel()
	for range 2 {
		if res := <-results; res.Err == nil || res.SessionID != "" && res.Status != store.Cancelled {
			t.Errorf("result %+v", res)
		}
	}
}

func TestChildTime(t *testing.T) {
	m := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, m, taskt.Limits{ChildTime: time.Second}, nil)
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"})
	if res.Status != store.TimedOut || !strings.Contains(res.XML(), "<task_error agent=\"explore\">\nthe time limit of 1s has passed") {
		t.Errorf("result %+v", res)
	}
}

// TestParallelStreams: with many children at once, each child's own stream and
// its part of the root's are the same, event by event, and whole.
func TestParallelStreams(t *testing.T) {
	m := modelFunc(func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, _ := prompt(req)
		var deltas int
		if _, err := fmt.Sscan(text, &deltas); err != nil {
			return err
		}
		for i := range deltas {
			if !yield(model.TextDelta{Text: fmt.Sprint(i, " ")}) {
				return nil
			}
		}
		yield(model.Stop{Reason: model.StopEnd})
		return nil
	})
	e := newEnv(t, m, taskt.Limits{Running: 50, PerParent: 50}, nil)
	rapid.Check(t, func(rt *rapid.T) {
		root, err := e.OpenCaller(t.Context(), "property")
		if err != nil {
			rt.Fatal(err)
		}
		lengths := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 20).Draw(rt, "deltas")
		results := make([]*taskt.Result, len(lengths))
		var calls sync.WaitGroup
		for i, n := range lengths {
			calls.Go(func() {
				results[i] = e.Call(t.Context(), root, taskt.Input{Prompt: fmt.Sprint(n), AgentType: "explore"})
			})
		}
		calls.Wait()
		inRoot := make(map[string][]string)
		for _, d := range e.stream(t, root.Path()) {
			ev, err := event.Decode(d.Raw)
			if err != nil {
				rt.Fatal(err)
			}
			if env, ok := ev.(event.SubagentEvent); ok {
				inRoot[env.SessionID] = append(inRoot[env.SessionID], string(env.Event))
			}
		}
		for i, res := range results {
			if res.Err != nil {
				rt.Fatal(res.Err)
			}
			var own []string
			said := ""
			for _, d := range e.stream(t, res.Record.Path) {
				own = append(own, string(d.Raw))
				if ev, err := event.Decode(d.Raw); err != nil {
					rt.Fatal(err)
				} else if piece, ok := ev.(event.ContentDelta); ok {
					said += piece.Delta // of several deltas, if the store was busy
				}
			}
			deltas := len(strings.Fields(said))
			if !slices.Equal(own, inRoot[res.SessionID]) {
				rt.Fatalf("child %d: its stream\n%s\nin the root's\n%s", i, strings.Join(own, "\n"), strings.Join(inRoot[res.SessionID], "\n"))
			}
			if deltas != lengths[i] || !strings.Contains(own[len(own)-1], "session_end") {
				rt.Fatalf("child %d: %d of %d deltas, the last event is %s", i, deltas, lengths[i], own[len(own)-1])
			}
		}
	})
}
