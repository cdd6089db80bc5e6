package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// shellOf is a shell whose commands end as outcomes say; none: as they should.
func shellOf(outcomes map[string][]string) *fakeTool {
	return &fakeTool{"shell_exec", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		command := call.Values[0].Text
		if left := outcomes[command]; len(left) > 0 {
			outcomes[command] = left[1:]
			return tool.Errorf("%s", left[0]), nil
		}
		return tool.Result{Text: "fine"}, nil
	}}
}

// TestChecksAreMade: an answer counts once its checks hold. The model gets one turn to
// repair what does not.
func TestChecksAreMade(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "made.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		checks   []session.Check
		outcomes map[string][]string // of commands, one after the other
		maxSteps int
		denied   string
		failed   string // what the error says; empty means completed
		asked    int    // model calls
		told     string // what the model reads of the repair
	}{
		"all hold":           {checks: []session.Check{{Path: "made.txt"}, {Command: "make test"}}, asked: 1},
		"repaired":           {checks: []session.Check{{Command: "make test"}}, outcomes: map[string][]string{"make test": {"FAIL x"}}, asked: 2, told: "command make test: FAIL x"},
		"not repaired":       {checks: []session.Check{{Command: "make test"}, {Path: "made.txt"}}, outcomes: map[string][]string{"make test": {"FAIL x", "FAIL y"}}, asked: 2, told: "FAIL x", failed: "1 of 2 checks failed:\n- command make test: FAIL y"},
		"no such path":       {checks: []session.Check{{Path: "none.txt"}}, asked: 2, failed: "path none.txt: "},
		"outside":            {checks: []session.Check{{Path: "../x"}}, asked: 2, failed: "path ../x: it is not a path in the workspace"},
		"a path denied":      {checks: []session.Check{{Path: "secret"}}, asked: 2, failed: "path secret: the rules deny reading it"},
		"a command denied":   {checks: []session.Check{{Command: "rm x"}}, denied: "rm x", asked: 2, failed: "command rm x: "},
		"other ones run":     {checks: []session.Check{{Command: "a"}, {Command: "b"}}, outcomes: map[string][]string{"a": {"A", "A2"}, "b": {"B"}}, asked: 2, told: "2 of 2 checks failed", failed: "1 of 2 checks failed:\n- command a: A2"},
		"no step is left":    {checks: []session.Check{{Command: "a"}}, outcomes: map[string][]string{"a": {"A"}}, maxSteps: 1, asked: 2, failed: "command a: A"},
		"much of its output": {checks: []session.Check{{Command: "a"}}, outcomes: map[string][]string{"a": {"A", strings.Repeat("ü", 10_000) + "the end"}}, asked: 2, failed: "üthe end"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked, told := 0, ""
			m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
				asked++
				told = req.Messages[len(req.Messages)-1].Text
				if tt.maxSteps > 0 && asked == 1 {
					calls(model.ToolCall{ID: "1", Name: "shell_exec", Arguments: `{"command":"ls"}`})(ctx, req, yield)
					return
				}
				say("done")(ctx, req, yield)
			}}
			rules := []permission.Rule{rule("*", "*", permission.Allow), rule("read_file", "secret", permission.Deny)}
			if tt.denied != "" {
				rules = append(rules, rule("shell_exec", tt.denied, permission.Deny))
			}
			e := newEnv(t, m, func(o *session.Options) { o.Workspace = permission.Workspace{Root: root} })
			s := e.open(session.Spec{
				Tools: []tool.Tool{&valued{shellOf(tt.outcomes)}}, Rules: permission.MustRuleset(rules...), Checks: tt.checks, MaxSteps: max(5*(1-tt.maxSteps), tt.maxSteps),
			})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if asked != tt.asked || tt.told != "" && !strings.Contains(told, tt.told) {
				t.Errorf("asked %d times, want %d; told %q", asked, tt.asked, told)
			}
			failed, isFailed := errors.AsType[*session.ChecksError](out.Err)
			if tt.failed == "" {
				if out.Status != record.Completed || out.Text != "done" {
					t.Errorf("%+v", out)
				}
			} else if !isFailed || !strings.Contains(failed.Error(), tt.failed) || len(failed.Error()) > 10_000 {
				t.Errorf("%.300v, want %q", out.Err, tt.failed)
			}
			r := e.record(s)
			if len(r.Work.Checks) != len(tt.checks) || r.Work.ToolCalls != tt.maxSteps {
				t.Errorf("work %+v", r.Work)
			}
		})
	}
}

// valued has the command of a call as its value.
type valued struct{ *fakeTool }

func (v *valued) Values(args json.RawMessage) ([]permission.Value, error) {
	var in struct{ Command string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return []permission.Value{{Tool: "shell_exec", Text: in.Command}}, nil
}

// record returns the record of a session as the index has it, after it was compared
// with what the log says.
func (e *env) record(s *session.Session) *record.Record {
	e.t.Helper()
	r, err := e.Store().Index.Get(e.t.Context(), s.ID())
	if err != nil {
		e.t.Fatal(err)
	}
	state, err := e.Store().Index.State(e.t.Context(), s.Path())
	if err != nil || !reflect.DeepEqual(state.Record.Work, r.Work) {
		e.t.Errorf("the log says %+v, the index %+v, %v", state.Record.Work, r.Work, err)
	}
	return r
}

// TestWorkIsCounted: what a session has done is told by its tools and the gate.
func TestWorkIsCounted(t *testing.T) {
	changes := [][]tool.Change{{{Path: "b", After: "1"}}, {{Path: "a", Before: "7", After: "8"}, {Path: "c", After: "3"}}, {{Path: "b", Before: "1", After: "2"}, {Path: "c", Before: "3"}}, nil}
	edit := &telling{fakeTool: &fakeTool{"edit", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		c := changes[0]
		changes = changes[1:]
		return tool.Result{Text: "ok", IsError: c == nil, Changes: c}, nil
	}}}
	m := turns{
		calls(call("1", "edit", "w")), calls(call("2", "edit", "x")), calls(call("3", "edit", "y")), calls(call("4", "edit", "z")),
		calls(call("5", "other", "x"), call("6", "other", "denied"), call("7", "none", "x")), say("done"),
	}
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{Tools: []tool.Tool{edit, echo("other")}, Rules: permission.MustRuleset(rule("*", "*", permission.Allow), rule("other", "denied", permission.Deny))})
	e.end(s, s.Prompt(t.Context(), "go"))
	want := record.Work{ToolCalls: 7, Failed: 3, Denied: 1, Untold: 1, Files: []event.FileChange{{Path: "a", Before: "7", After: "8"}, {Path: "b", After: "2"}, {Path: "c"}}}
	if r := e.record(s); !reflect.DeepEqual(r.Work, want) {
		t.Errorf("%+v\nwant %+v", r.Work, want)
	}
}

type telling struct{ *fakeTool }

func (f *telling) Spec() tool.Spec {
	spec := f.fakeTool.Spec()
	spec.TellsChanges = true
	return spec
}

type notes struct{ *fakeTool }

func (f *notes) Spec() tool.Spec {
	spec := f.fakeTool.Spec()
	spec.Notes = true
	return spec
}

// TestNoCallIsSaid: an agent that could act and called nothing.
func TestNoCallIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		tools []tool.Tool
		rules []permission.Rule
		want  bool
	}{
		"it could":   {[]tool.Tool{echo("a")}, nil, true},
		"no tools":   {nil, nil, false},
		"it may not": {[]tool.Tool{echo("a")}, []permission.Rule{rule("a", "*", permission.Deny)}, false},
		"it notes":   {[]tool.Tool{&notes{echo("a")}}, nil, false},
		"it reads":   {[]tool.Tool{&polling{echo("a")}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{say("I have done it")}, nil)
			caller, err := e.Open(t.Context(), session.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { e.end(caller, session.Outcome{Status: record.Completed}) }()
			s := e.open(session.Spec{Parent: caller, Tools: tt.tools, Rules: permission.MustRuleset(append([]permission.Rule{rule("*", "*", permission.Allow)}, tt.rules...)...)})
			e.end(s, s.Prompt(t.Context(), "go"))
			if r := e.record(s); r.Work.Idle != tt.want {
				t.Errorf("%+v", r.Work)
			}
		})
	}
}
