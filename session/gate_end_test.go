package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// changing are static rules that change while a session runs.
type changing struct {
	static
	mu sync.Mutex
}

func (c *changing) Rules() (*permission.Ruleset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.static.rules, nil
}

func (c *changing) set(rules ...permission.Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.static.rules = permission.MustRuleset(rules...)
}

// unused is a tool that must not run.
func unused(t *testing.T, name string) tool.Tool {
	return &fakeTool{name, func(context.Context, *tool.Call) (tool.Result, error) {
		t.Errorf("%s has run", name)
		return tool.Result{Text: "ran"}, nil
	}}
}

// told is a turn that keeps the results that the model got.
func told(results *[]model.ToolResult) func(context.Context, *model.Request, func(model.Part, error) bool) {
	return func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		*results = req.Messages[len(req.Messages)-1].ToolResults
		say("ok")(ctx, req, yield)
	}
}

// TestEndedCallsNothing: where a session above has ended, or the session
// itself, a model that goes on gets nothing done, whatever the rules allow.
func TestEndedCallsNothing(t *testing.T) {
	for _, own := range []bool{false, true} {
		var parent, child *session.Session
		var results []model.ToolResult
		var e *env
		e = newEnv(t, turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			over := parent
			if own {
				over = child
			}
			e.end(over, session.Outcome{Status: record.Cancelled})
			calls(call("1", "touch", "x"))(ctx, req, yield)
		}, told(&results)}, nil)
		parent = e.open(session.Spec{Agent: "parent"})
		child = e.open(session.Spec{Parent: parent, Tools: []tool.Tool{unused(t, "touch")}})
		out := child.Prompt(t.Context(), "go")
		if own {
			if out.Err == nil && out.Status == record.Completed && len(results) > 0 && !results[0].IsError {
				t.Errorf("after its own end: %+v, the model was told %+v", out, results)
			}
			continue
		}
		e.end(child, out)
		if len(results) != 1 || !strings.Contains(results[0].Text, "since session "+parent.ID()+" is cancelled") {
			t.Errorf("after the end of its parent the model was told %+v", results)
		}
	}
}

// TestAnswerAfterParentEnded: a child's call that is approved when its parent
// has ended does not run.
func TestAnswerAfterParentEnded(t *testing.T) {
	var parent *session.Session
	var results []model.ToolResult
	var e *env
	approver := approval.ApproverFunc(func(context.Context, *approval.Approval) (approval.Answer, error) {
		e.end(parent, session.Outcome{Status: record.Cancelled})
		return approval.Answer{Verdict: approval.ApproveAlways}, nil
	})
	e = newEnv(t, turns{calls(call("1", "touch", "x")), told(&results)}, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	parent = e.open(session.Spec{Agent: "parent"})
	child := e.open(session.Spec{Parent: parent, Tools: []tool.Tool{unused(t, "touch")}})
	e.end(child, child.Prompt(t.Context(), "go"))
	if len(results) != 1 || !strings.Contains(results[0].Text, "is cancelled") || len(e.static.added) > 0 {
		t.Errorf("the model was told %+v, and %v was added", results, e.static.added)
	}
}

// TestVetoOutlivesSession: the rules of the agent still bind what runs after its session has ended.
func TestVetoOutlivesSession(t *testing.T) {
	var readable func(string) bool
	look := &fakeTool{"look", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		readable = call.Readable
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "look", "x")), say("ok")}, nil)
	parent := e.open(session.Spec{Agent: "parent", Rules: permission.MustRuleset(rule("*", "*", permission.Allow), rule("read_file", "*.env", permission.Deny))})
	child := e.open(session.Spec{Parent: parent, Tools: []tool.Tool{look}, Rules: permission.MustRuleset(rule("*", "*", permission.Allow), rule("read_file", "*.key", permission.Deny))})
	e.end(child, child.Prompt(t.Context(), "go"))
	e.end(parent, session.Outcome{Status: record.Completed})
	for _, path := range []string{"a.env", "a.key"} {
		if readable(path) {
			t.Errorf("%s is readable after the end", path)
		}
	}
}

// TestDenyWhileWaiting: a deny that comes while a call waits holds against an
// approval, and adds nothing.
func TestDenyWhileWaiting(t *testing.T) {
	var results []model.ToolResult
	rules := &changing{}
	rules.set(rule("*", "*", permission.Ask))
	approver := approval.ApproverFunc(func(context.Context, *approval.Approval) (approval.Answer, error) {
		rules.set(rule("*", "*", permission.Ask), rule("touch", "*", permission.Deny))
		return approval.Answer{Verdict: approval.ApproveAlways}, nil
	})
	e := newEnv(t, turns{calls(call("1", "touch", "x")), told(&results)}, func(o *session.Options) { o.Approver, o.Static = approver, rules })
	s := e.open(session.Spec{Tools: []tool.Tool{unused(t, "touch")}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if len(results) != 1 || !results[0].IsError || !strings.Contains(results[0].Text, "denied by the rule") || len(rules.added) > 0 {
		t.Errorf("the model was told %+v, and %v was added", results, rules.added)
	}
}

// writer is a tool that also writes a file, like a redirection.
type writer struct{ *fakeTool }

func (w writer) Values(args json.RawMessage) ([]permission.Value, error) {
	values, err := w.fakeTool.Values(args)
	return append(values, permission.Value{Tool: "write_file", Text: "out.txt", Abs: "/ws/out.txt"}), err
}

// TestNoUselessAlways: "always" is offered where it would let the call through,
// and an answer "always" to another leaves it waiting.
func TestNoUselessAlways(t *testing.T) {
	for _, c := range []struct {
		write  permission.Action
		offers int
	}{{permission.Allow, 1}, {permission.Ask, 0}} {
		asked := make(chan *approval.Approval, 1)
		approver := approval.ApproverFunc(func(ctx context.Context, req *approval.Approval) (approval.Answer, error) {
			asked <- req
			<-ctx.Done()
			return approval.Answer{}, ctx.Err()
		})
		e := newEnv(t, turns{calls(call("1", "touch", "x")), say("ok")}, func(o *session.Options) { o.Approver = approver })
		e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask), rule("write_file", "*", c.write))
		s := e.open(session.Spec{Tools: []tool.Tool{writer{echo("touch")}}})
		out := make(chan session.Outcome, 1)
		go func() { out <- s.Prompt(t.Context(), "go") }()
		req := <-asked
		if len(req.AlwaysPatterns) != c.offers {
			t.Errorf("write_file %s: always would add %v, want %d patterns", c.write, req.AlwaysPatterns, c.offers)
		}
		_, err := e.Store().Approvals.Answer(t.Context(), req.ID, approval.Answer{Verdict: approval.ApproveAlways})
		if c.offers == 0 {
			if err == nil || !strings.Contains(err.Error(), `there is no "always"`) {
				t.Errorf("an always that helps nothing: %v", err)
			}
			_, err = e.Store().Approvals.Answer(t.Context(), req.ID, approval.Answer{Verdict: approval.ApproveOnce})
		}
		if err != nil {
			t.Errorf("write_file %s: %v", c.write, err)
		}
		e.end(s, <-out)
		if len(e.static.added) != c.offers {
			t.Errorf("write_file %s: %v was added", c.write, e.static.added)
		}
	}
}
