// Package doortest has what the tests of the front doors share: the part of a worker that a
// door calls.
package doortest

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy/policytest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// Worker is what a door calls: the built-in agents, on a model, with the tool touch, in an
// empty workspace.
type Worker struct {
	Bus      *eventbus.Bus
	Sessions *session.Manager
	Tasks    *taskt.Service
	Agents   *agentdefs.Registry
	Root     string // the workspace's folder
}

// Open returns the worker of a workspace. All is allowed but touch, which is asked
// about. The caller closes it. Each change is made to the options of its sessions.
func Open(t testing.TB, workspace string, store eventbus.Options, m model.Model, limits taskt.Limits, changes ...func(*session.Options)) *Worker {
	t.Helper()
	w := new(Worker)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.Root = root
	if w.Bus, err = eventbus.Open(t.Context(), workspace, &store); err != nil {
		t.Fatal(err)
	}
	if w.Agents, err = agentdefs.Open(t.Context(), root, nil); err != nil {
		t.Fatal(err)
	}
	opts := session.Options{Bus: w.Bus, Static: rules{}, Model: func(string) (model.Model, error) { return m, nil }}
	for _, change := range changes {
		change(&opts)
	}
	if w.Sessions, err = session.OpenManager(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if w.Tasks, err = taskt.New(taskt.Options{
		Sessions: w.Sessions, Agents: w.Agents, Root: root, Tools: []tool.Tool{touch{}, w.Sessions.Questions()}, Limits: limits,
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// Under is a change that has a policy hold.
func Under(t testing.TB, text string) func(*session.Options) {
	t.Helper()
	above, _ := policytest.Open(t, text)
	return func(o *session.Options) { o.Policy = above }
}

// Asking is a model that calls touch, and then says what came of it.
func Asking(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	return Calling("touch", `{}`)(ctx, req, yield)
}

// Calling is a model that calls a tool, and then says what came of it.
func Calling(tool, arguments string) func(context.Context, *model.Request, func(model.Part) bool) error {
	return func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		last := req.Messages[len(req.Messages)-1]
		if len(last.ToolResults) == 0 {
			_ = yield(model.ToolCall{ID: "c1", Name: tool, Arguments: arguments}) && yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		_ = yield(model.TextDelta{Text: last.ToolResults[0].Text}) && yield(model.Stop{Reason: model.StopEnd})
		return nil
	}
}

// Question is the arguments of a call of ask_user, with what would move a cursor, run as a
// script, or turn text around.
const Question = `{"question":"Which one?\u001b[2J\u202e<script>alert(1)</script>","options":["a","<b>"],"multiple":true,"default":"a"}`

// Close closes what Open has opened, except the sessions' manager.
func (w *Worker) Close() error {
	defer w.Agents.Close()
	return w.Bus.Close()
}

type rules struct{}

func (rules) Rules() (*permission.Ruleset, error) {
	return permission.NewRuleset(
		permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow},
		permission.Rule{Tool: "touch", Pattern: "*", Action: permission.Ask},
	)
}
func (rules) Allow(string, []string) error { return nil }

// touch is a tool that says it was called.
type touch struct{}

func (touch) Spec() tool.Spec {
	return tool.Spec{Name: "touch", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (touch) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("touch it", call.Args)
}

func (touch) Values(json.RawMessage) ([]permission.Value, error) {
	return []permission.Value{{Tool: "touch", Text: "it"}}, nil
}

func (touch) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Text: "touched"}, nil
}
