package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestStepCalls: as many calls of one step run at once as the limit says. Calls that delegate all run.
func TestStepCalls(t *testing.T) {
	const each = 20
	var asked []model.ToolCall
	for i := range each {
		asked = append(asked, call(fmt.Sprint("other", i), "other", "x"), call(fmt.Sprint("own", i), "own", "x"))
	}
	var others, owns, most atomic.Int32
	all := make(chan struct{}) // closed: all calls of the tool that delegates run
	own := delegating{&fakeTool{"own", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		if owns.Add(1) == each {
			close(all)
		}
		<-all
		return tool.Result{Text: "done"}, ctx.Err()
	}}}
	other := &fakeTool{"other", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		n := others.Add(1)
		defer others.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-all
		return tool.Result{Text: "done"}, ctx.Err()
	}}
	e := newEnv(t, turns{calls(asked...), say("ok")}, func(o *session.Options) { o.Limits.StepCalls = 3 })
	s := e.open(session.Spec{Tools: []tool.Tool{own, other}})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Err != nil || most.Load() > 3 {
		t.Errorf("%v; %d calls ran at once", out.Err, most.Load())
	}
	for _, bad := range []int{-1, 1001} {
		if _, err := session.OpenManager(t.Context(), session.Options{Limits: session.Limits{StepCalls: bad}}); err == nil {
			t.Errorf("a manager with %d calls of one step at once was opened", bad)
		}
	}
}

// reader is a tool whose calls are read once.
type reader struct {
	*fakeTool
	read atomic.Int32
}

type readCall struct {
	values []permission.Value
	text   string
}

func (r *reader) Prepare(args json.RawMessage) (tool.Prepared, error) {
	r.read.Add(1)
	values, err := r.Values(args)
	return &readCall{values, strings.ToUpper(values[0].Text)}, err
}

func (c *readCall) Values() ([]permission.Value, error) { return c.values, nil }

func (c *readCall) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Text: c.text}, nil
}

// TestPrepared: a tool that prepares its calls reads the arguments once; a call
// that its caller has prepared is judged like any other, and is not read again.
func TestPrepared(t *testing.T) {
	r := &reader{fakeTool: &fakeTool{name: "read"}}
	e := newEnv(t, turns{calls(call("1", "read", "secret"), call("2", "read", "open")), say("ok")}, nil)
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow), rule("read", "secret", permission.Deny))
	s := e.open(session.Spec{Tools: []tool.Tool{r}})
	e.end(s, s.Prompt(t.Context(), "go"))
	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	results := messages[2].ToolResults
	if !results[0].IsError || results[1].Text != "OPEN" || r.read.Load() != 2 {
		t.Errorf("results %+v, arguments were read %d times", results, r.read.Load())
	}
	caller, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{r}})
	if err != nil {
		t.Fatal(err)
	}
	for value, refused := range map[string]bool{"secret": true, "open": false} {
		ready := &readCall{[]permission.Value{{Tool: "read", Text: value}}, "ready"}
		res, err := caller.Do(t.Context(), "read", json.RawMessage(`{"v":"shown"}`), ready)
		if err != nil || res.Refused != refused || !refused && res.Text != "ready" {
			t.Errorf("%s: %+v, %v", value, res, err)
		}
	}
	if err := caller.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	if r.read.Load() != 2 {
		t.Errorf("arguments were read %d times", r.read.Load())
	}
}
