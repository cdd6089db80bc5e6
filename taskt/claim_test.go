package taskt_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// over has a service of another process go on with what is left in a store, and returns
// the sessions once all have ended.
func (s setup) over(t *testing.T, bus *eventbus.Bus) (*env, []*record.Record) {
	t.Helper()
	s.bus, s.limits.Takeovers = bus, max(1, s.limits.Takeovers)
	all := []*env{s.open(t)}
	for len(all) < s.rivals+1 {
		all = append(all, s.open(t))
	}
	var taking sync.WaitGroup
	for _, e := range all {
		taking.Go(func() { e.ClaimSessions(t.Context()) })
	}
	taking.Wait()
	for _, e := range all {
		if err := e.root.End(record.Completed, nil); err != nil {
			t.Fatal(err)
		}
	}
	e := all[0]
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, r := range records {
		for d, err := range bus.Follow(ctx, r.Path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatalf("%s %s (%s) has no end: %v", r.ID, r.Agent, r.Status, err)
			}
			if d.Ends() {
				break
			}
		}
		records[i] = recordOf(t, e, r.ID)
	}
	for _, e := range all {
		e.Close()
		if err := e.sessions.Close(); err != nil {
			t.Error(err)
		}
	}
	return e, records
}

// TestTakeoverTree: a process that ran nested subagents in the background is killed at any
// point. Another one claims the sessions whose last step allows it, and ends the others. Each
// has one end, of which its parent reads once. The usage is known, and within the budgets.
func TestTakeoverTree(t *testing.T) {
	stored, boot := recordTree(t)
	step := 29
	if os.Getenv("SOAK") != "" { // after each append
		step = 1
	}
	let := make(chan struct{})
	close(let)
	tree := treeSetup(let, let, make(chan struct{}, len(stored)))
	bus := openBus(t, t.TempDir())
	takeovers := 0
	for n := 1; n <= len(stored); n += step {
		killAt(t, bus, stored[:n], boot)
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) { takeovers += tree.checkOver(t, bus) })
		if !ok {
			return
		}
	}
	if takeovers == 0 {
		t.Error("no session was taken over")
	}
}

// checkOver has another process go on with a tree, and checks what has become of it. It
// returns how often sessions were taken over.
func (s setup) checkOver(t *testing.T, bus *eventbus.Bus) (takeovers int) {
	t.Helper()
	e, records := s.over(t, bus)
	checkTold(t, bus, e.sessions.Store(), make(map[string]string))
	checkBudgets(t, bus, e.sessions.Store())
	checkTotals(t, e.sessions.Store())
	checkCalls(t, bus, e.sessions.Store(), records)
	for _, r := range records {
		takeovers += r.Takeovers
		checkRuns(t, bus, r)
		if r.Agent != "" && r.Status != record.Completed && !strings.Contains(r.Error, "it had not begun to work") {
			t.Errorf("%s %s is %s: %s", r.ID, r.Agent, r.Status, r.Error)
		}
	}
	return takeovers
}

// checkRuns checks that a session has one start and one end, with its takeovers in
// between.
func checkRuns(t *testing.T, bus *eventbus.Bus, r *record.Record) {
	t.Helper()
	var starts, ends, resumed int
	last := ""
	for e, err := range bus.Log(t.Context(), r.Path) {
		if err != nil {
			t.Fatal(err)
		}
		switch last = e.Kind; {
		case e.Kind == event.SessionStart{}.Type():
			starts++
		case strings.HasPrefix(string(e.Data), `{"type":"session_resumed"`):
			resumed++
		case e.Kind == event.SessionEnd{}.Type():
			ends++
		}
	}
	if starts != 1 || ends != 1 || resumed != r.Takeovers || last != (event.SessionEnd{}).Type() {
		t.Errorf("%s %s: %d starts, %d takeovers (its record: %d), %d ends; the last entry is %s", r.ID, r.Agent, starts, resumed, r.Takeovers, ends, last)
	}
}

// cut runs a subagent in the background until an event of it has a text, and makes of the
// store at path what its process has left then.
func (s setup) cut(t *testing.T, dir, prompt, until string) (child string) {
	t.Helper()
	e := s.open(t)
	run := e.Start(t.Context(), e.root, taskt.Input{Prompt: prompt, AgentType: "worker", Background: new(true)})
	child = run.SessionID()
	for d, err := range e.bus.Follow(t.Context(), recordOf(t, e, child).Path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(d.Raw), until) {
			break
		}
	}
	killAt(t, openBus(t, dir), content(t, e.bus), e.root.Record().BootID)
	run.Cancel("the test has it")
	<-run.Done()
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	return child
}

// waiting is a tool whose calls end with their context.
type waiting struct {
	plain
	readOnly bool
}

func (w waiting) Spec() tool.Spec {
	spec := w.plain.Spec()
	spec.ReadOnly = w.readOnly
	return spec
}

func (w waiting) Run(ctx context.Context, _ *tool.Call) (tool.Result, error) {
	<-ctx.Done()
	return tool.Result{}, ctx.Err()
}

// TestTakeoverAllowed: the last step, the current agent and the current model decide on a
// claim. The session may do no more than either of the two processes allows.
func TestTakeoverAllowed(t *testing.T) {
	asks := func(name, v string) modelFunc {
		return func(_ context.Context, _ *model.Request, yield func(model.Part) bool) error {
			_ = yield(model.ToolCall{ID: name, Name: name, Arguments: `{"v":"` + v + `"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
	}
	file := func(rules string) map[string]string {
		return map[string]string{"worker.md": "---\ndescription: Works.\npermission:\n  \"*\": allow\n" + rules + "---\n"}
	}
	var got []model.Message
	tells := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		got = req.Messages
		return answer("done")(ctx, req, yield)
	})
	first := setup{model: asks("look", "x"), files: file(""), tools: []tool.Tool{waiting{"look", true}, waiting{"change", false}}}
	for name, tt := range map[string]struct {
		model modelFunc // of the process that is killed
		next  setup
		fails string // why it is not claimed; empty means it is
		told  string // the last message to the model
	}{
		"a call that changes nothing": {next: setup{model: tells, files: file("")}, told: "Make it again if you need its result."},
		"a call that may change something": {
			model: asks("change", "x"), next: setup{model: tells, files: file("")}, fails: "it is not known whether its call of change was made",
		},
		"the files of another machine": {next: setup{model: tells, files: file(""), ownFiles: true}, fails: "its files are those of "},
		"the agent is gone":            {next: setup{model: tells}, fails: `unknown agentType "worker"`},
		"the model can't be had": {
			next: setup{files: file(""), models: func(name string) (model.Model, error) {
				if name == tells.Name() {
					return nil, errors.New("no key")
				}
				return replayModel{}, nil
			}}, fails: "no key",
		},
		"the rules are narrower": {
			next: setup{files: file("  again: deny\n"), model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
				if _, n := prompt(req); n < 2 {
					return asks("again", "x")(ctx, req, yield)
				}
				return tells(ctx, req, yield)
			})}, told: "is denied by the rule",
		},
		"the rules were narrower": {
			next: setup{files: file(""), model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
				if _, n := prompt(req); n < 2 {
					return asks("never", "x")(ctx, req, yield)
				}
				return tells(ctx, req, yield)
			})}, told: "is denied by the rule",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			run, dir := first, t.TempDir()
			run.files = file("  never: deny\n")
			if tt.model != nil {
				run.model = tt.model
			}
			child := run.cut(t, dir, "go", `"type":"tool_call_start"`)
			tt.next.tools = []tool.Tool{waiting{"look", true}, waiting{"change", false}, plain("again"), plain("never")}
			e, _ := tt.next.over(t, openBus(t, dir))
			r := recordOf(t, e, child)
			sameEnd(t, e, r)
			if tt.fails != "" {
				if r.Status != record.Interrupted || !strings.Contains(r.Error, tt.fails) || got != nil {
					t.Errorf("it is %s: %s", r.Status, r.Error)
				}
				return
			}
			if r.Status != record.Completed || r.Takeovers != 1 || r.Steps != len(got)/2+1 {
				t.Errorf("it is %s after %d steps: %s", r.Status, r.Steps, r.Error)
			}
			if text := spoken(got[len(got)-1:]); !strings.Contains(text, tt.told) {
				t.Errorf("the model was sent\n%s", spoken(got))
			}
		})
	}
}

// replayModel is a model of another name than those of functions.
type replayModel struct{ model.Model }

func (replayModel) Name() string { return "another" }

// TestTakeoverPaused: a session that waits for a provider goes on to wait in the process
// that has taken it over, and asks no sooner.
func TestTakeoverPaused(t *testing.T) {
	files := map[string]string{"worker.md": "---\ndescription: Works.\n---\n"}
	refuses := modelFunc(func(context.Context, *model.Request, func(model.Part) bool) error {
		return &model.Error{Model: "test", Kind: model.ErrRateLimited, Status: http.StatusTooManyRequests, RetryAfter: 2 * time.Second, Message: "slow down"}
	})
	dir := t.TempDir()
	child := setup{model: refuses, files: files}.cut(t, dir, "go", `"status":"paused"`)
	var asked time.Time
	e, _ := setup{files: files, model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		asked = time.Now()
		return answer("done")(ctx, req, yield)
	})}.over(t, openBus(t, dir))
	until := time.Time{}
	for entry, err := range e.bus.Log(t.Context(), recordOf(t, e, child).Path) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, err := event.Decode(entry.Data); err == nil && until.IsZero() {
			if change, ok := ev.(event.StatusChange); ok && change.Pause != nil {
				until = change.Pause.Until
			}
		}
	}
	if r := recordOf(t, e, child); r.Status != record.Completed || r.Takeovers != 1 || until.IsZero() || asked.Before(until) {
		t.Errorf("it is %s (%s), paused until %s, and asked at %s", r.Status, r.Error, until, asked)
	}
}

// TestTakeoverTwice: a session is taken over as often as is configured, and not more.
func TestTakeoverTwice(t *testing.T) {
	hangs := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		<-ctx.Done()
		return ctx.Err()
	})
	dir := t.TempDir()
	s := setup{model: hangs, files: map[string]string{"worker.md": "---\ndescription: Works.\n---\n"}}
	child := s.cut(t, dir, "go", `"status":"streaming"`)
	s.bus, s.limits.Takeovers = openBus(t, dir), 1
	e := s.open(t)
	boot := recordOf(t, e, child).BootID
	e.ClaimSessions(t.Context())
	next := t.TempDir()
	for d, err := range e.bus.Follow(t.Context(), recordOf(t, e, child).Path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(d.Raw), `"type":"session_resumed"`) {
			break
		}
	}
	killAt(t, openBus(t, next), content(t, e.bus), e.root.Record().BootID, boot)
	e.Close()
	s.model = answer("done")
	last, _ := s.over(t, openBus(t, next))
	if r := recordOf(t, last, child); r.Status != record.Interrupted || r.Takeovers != 1 || !strings.Contains(r.Error, "not be taken over more than 1 times (--takeovers)") {
		t.Errorf("it is %s after %d takeovers: %s", r.Status, r.Takeovers, r.Error)
	}
}
