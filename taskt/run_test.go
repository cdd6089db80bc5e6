package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// held answers once it is let, and not after ctx has ended.
func held(let <-chan string) modelFunc {
	return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		select {
		case text := <-let:
			return answer(text)(ctx, req, yield)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var look = taskt.Input{Description: "d", Prompt: "look", AgentType: "explore"}

// scopeOf is the scope of a caller; that of the workspace, for the empty id.
func scopeOf(callerID string) *control.Scope {
	if callerID == "" {
		return &control.Scope{Workspace: true, By: "alice"}
	}
	return &control.Scope{Below: []string{callerID}, By: "alice"}
}

// stop stops one session.
func (e *env) stop(t *testing.T, scope *control.Scope, id string) (control.State, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"sessionId": id})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := e.Control().Do(t.Context(), scope, control.Find("task_stop"), args)
	if err != nil {
		return control.State{}, err
	}
	return answer.(*control.Stopped).Sessions[0], nil
}

// TestStart: a run has its child's id while the child works, and goes on
// whether or not anybody waits.
func TestStart(t *testing.T) {
	let := make(chan string)
	e := newEnv(t, held(let), taskt.Limits{}, nil)
	run := e.Start(t.Context(), e.root, look)
	select {
	case <-run.Done():
		t.Fatalf("it is over: %+v", run.Result())
	default:
	}
	if live, ok := e.sessions.Live(run.SessionID()); !ok || live.Agent() != "explore" || run.Agent() != "explore" {
		t.Errorf("session %q of %q does not run", run.SessionID(), run.Agent())
	}
	if _, err := e.Control().Result(t.Context(), scopeOf(e.root.ID()), run.SessionID()); !errors.Is(err, control.ErrRunning) {
		t.Errorf("its result while it runs: %v, want %v", err, control.ErrRunning)
	}
	let <- "seen"
	<-run.Done()
	if r := run.Result(); r.Text != "seen" || r.Err != nil || r.SessionID != run.SessionID() {
		t.Errorf("result %+v", r)
	}
}

// TestStartWithoutChild: a call that opens no child is over at once, and says why.
func TestStartWithoutChild(t *testing.T) {
	e := setup{model: answer("x"), static: static{{Tool: "*", Pattern: "*", Action: permission.Deny}}}.open(t)
	run := e.Start(t.Context(), e.root, look)
	<-run.Done()
	if r := run.Result(); run.SessionID() != "" || !r.Refused || r.Err == nil {
		t.Errorf("session %q, result %+v, want it refused", run.SessionID(), r)
	}
	if err := e.root.End(record.Cancelled, nil); err != nil {
		t.Fatal(err)
	}
	if run = e.Start(t.Context(), e.root, look); run.SessionID() != "" || !errors.Is(run.Result().Err, record.ErrEnded) {
		t.Errorf("below a root that has ended: session %q, %v, want %v", run.SessionID(), run.Result().Err, record.ErrEnded)
	}
}

// TestRunCancel: the reason of the first who cancels is in the result, and in
// the store.
func TestRunCancel(t *testing.T) {
	e := newEnv(t, held(nil), taskt.Limits{Running: 1}, nil)
	first, queued := e.Start(t.Context(), e.root, look), e.Start(t.Context(), e.root, look)
	queued.Cancel("enough")
	<-queued.Done()
	first.Cancel("the host has gone")
	first.Cancel("too late")
	<-first.Done()
	for run, reason := range map[*taskt.Run]string{first: ": the host has gone", queued: ": enough"} {
		// Either may have had the one slot.
		if r := run.Result(); r.Status != record.Cancelled || !strings.HasPrefix(r.Text, "the task was cancelled") || !strings.HasSuffix(r.Text, reason) {
			t.Errorf("%+v, want it cancelled%s", r, reason)
		}
		stored, err := e.Control().Result(t.Context(), scopeOf(e.root.ID()), run.SessionID())
		if err != nil || stored.XML() != run.Result().XML() || stored.Status != record.Cancelled || stored.Err == nil {
			t.Errorf("stored %+v, %v, want %+v", stored, err, run.Result())
		}
	}
}

// TestStored: the store has what the caller got, and only the caller can read it.
func TestStored(t *testing.T) {
	long := strings.Repeat("ü long ", 200_000) // more than a message takes
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch text, _ := prompt(req); text {
		case "long":
			return answer(long)(ctx, req, yield)
		case "json":
			return answer("Here:\n```json\n{\"n\": 1}\n```\n")(ctx, req, yield)
		case "fail":
			return errors.New("no model today")
		default:
			return answer(text)(ctx, req, yield)
		}
	})
	e := newEnv(t, m, taskt.Limits{}, map[string]string{
		"counter.md": "---\ndescription: Counts.\noutput: {type: object, properties: {n: {type: integer}}, required: [n]}\n---\n",
	})
	other, err := e.OpenCaller(t.Context(), "other", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	for prompt, agent := range map[string]string{"short": "explore", "long": "explore", "json": "counter", "fail": "explore"} {
		got := e.Call(t.Context(), e.root, taskt.Input{Description: "d", Prompt: prompt, AgentType: agent})
		for _, caller := range []string{e.root.ID(), ""} {
			stored, err := e.Control().Result(t.Context(), scopeOf(caller), got.SessionID)
			if err != nil {
				t.Errorf("%s: %v", prompt, err)
				continue
			}
			if stored.XML() != got.XML() || stored.Status != got.Status || (stored.Err == nil) != (got.Err == nil) || stored.Agent != agent || stored.Record.Usage != got.Record.Usage {
				t.Errorf("%s: stored %.300v, want %.300v", prompt, stored, got)
			}
		}
		for _, tt := range []struct{ caller, id string }{
			{other.ID(), got.SessionID}, {e.root.ID(), got.SessionID[:10]}, {"", got.SessionID[:10]}, {e.root.ID(), ""},
			{e.root.ID(), "ses_"}, {e.root.ID(), e.root.ID()}, {"", e.root.ID()}, {e.root.ID(), "a.b"},
		} {
			if r, err := e.Control().Result(t.Context(), scopeOf(tt.caller), tt.id); !errors.Is(err, record.ErrNotFound) || strings.Contains(err.Error(), got.SessionID) && tt.id != got.SessionID {
				t.Errorf("%s: %q of %q: %v, %v, want it not found", prompt, tt.id, tt.caller, r, err)
			}
		}
	}
}

// TestRunNested: a child's own call is not taken for the run that it belongs to.
func TestRunNested(t *testing.T) {
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if text, answers := prompt(req); text == "outer" && answers == 0 {
			args, err := json.Marshal(taskt.Input{Description: "d", Prompt: "inner", AgentType: "explore"})
			_ = err == nil && yield(model.ToolCall{ID: "1", Name: "task", Arguments: string(args)}) && yield(model.Stop{Reason: model.StopToolCalls})
			return err
		}
		text, _ := prompt(req)
		return answer("answer to "+text)(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 2}, nil)
	run := e.Start(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "outer", AgentType: "general"})
	<-run.Done()
	if r := run.Result(); r.Text != "answer to outer" || r.SessionID != run.SessionID() || r.Record.Steps != 2 {
		t.Errorf("%+v, want the answer of session %s", r, run.SessionID())
	}
}

// TestStop: a child that is stopped ends with those below it; one that waits for
// a slot never begins. Their caller is told who has stopped them, and goes on.
func TestStop(t *testing.T) {
	below := make(chan struct{})
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch text, answers := prompt(req); {
		case text == "outer" && answers == 0:
			args, err := json.Marshal(taskt.Input{Description: "d", Prompt: "inner", AgentType: "explore"})
			_ = err == nil && yield(model.ToolCall{ID: "1", Name: "task", Arguments: string(args)}) && yield(model.Stop{Reason: model.StopToolCalls})
			return err
		case text == "inner":
			close(below)
			<-ctx.Done()
			return context.Cause(ctx)
		default:
			return answer("fine")(ctx, req, yield)
		}
	})
	e := newEnv(t, m, taskt.Limits{Depth: 2, Running: 1}, nil)
	other, err := e.OpenCaller(t.Context(), "other", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	run := e.Start(t.Context(), e.root, taskt.Input{Description: "d", Prompt: "outer", AgentType: "general"})
	<-below
	queued := e.Start(t.Context(), e.root, look)
	for _, tt := range []struct{ caller, id string }{
		{other.ID(), run.SessionID()}, {"", run.SessionID()[:10]}, {e.root.ID(), e.root.ID()}, {"", "ses_none"}, {e.root.ID(), strings.Repeat("x", 5000)},
	} {
		if _, err := e.stop(t, scopeOf(tt.caller), tt.id); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("stopping %.20q of %q: %v, want it not found", tt.id, tt.caller, err)
		}
	}
	for _, r := range []*taskt.Run{queued, run} {
		state, err := e.stop(t, scopeOf(e.root.ID()), r.SessionID())
		if err != nil || state.Status != record.Cancelled {
			t.Fatalf("state %+v, %v", state, err)
		}
		<-r.Done()
		if got := r.Result(); got.Status != record.Cancelled || !strings.HasSuffix(got.Text, "stopped by alice") {
			t.Errorf("result %+v", got)
		}
	}
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Depth == 2 && (r.Status != record.Cancelled || !r.Closed) {
			t.Errorf("the one below: %+v", r)
		}
	}
	if got := e.Call(t.Context(), e.root, look); got.Err != nil || got.Text != "fine" {
		t.Errorf("the caller's next call: %+v", got)
	}
}

// TestStopRoot: whoever stops a caller's session cancels its calls.
func TestStopRoot(t *testing.T) {
	e := newEnv(t, held(nil), taskt.Limits{}, nil)
	root, err := e.OpenCallerOn(t.Context(), "a host", record.Owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := e.Start(t.Context(), root, look)
	if rec, err := e.sessions.Store().Recovery.Stop(t.Context(), root.ID(), "alice"); err != nil || rec.Status != record.Cancelled {
		t.Fatalf("record %+v, %v", rec, err)
	}
	<-run.Done()
	if r := run.Result(); r.Status != record.Cancelled {
		t.Errorf("result %+v", r)
	}
	if r := e.Call(t.Context(), root, look); r.Status != record.Cancelled || r.SessionID != "" {
		t.Errorf("a call after it: %+v", r)
	}
}
