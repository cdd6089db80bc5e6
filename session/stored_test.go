package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestStoredBefore: when a tool runs that changes something, its call is stored,
// and those of the sessions above it; when a question is shown, so is that.
func TestStoredBefore(t *testing.T) {
	for name, at := range map[string]eventbus.Options{
		"embedded": {StoreDir: t.TempDir()},
		"external": {URL: natstest.Start(t, server.Options{StoreDir: t.TempDir()}).ClientURL()},
	} {
		t.Run(name, func(t *testing.T) { testStoredBefore(t, at) })
	}
}

func testStoredBefore(t *testing.T, at eventbus.Options) {
	var e *env
	stored := func(path event.Path, kind, want string) {
		var last eventbus.Delivery
		for d, err := range e.bus.Stored(t.Context(), path, path, kind, 0) {
			if last = d; err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(string(last.Raw), want) {
			t.Errorf("the last %s: %s, want %s", kind, last.Raw, want)
		}
	}
	var parent, child *session.Session
	touch := &fakeTool{"touch", func(context.Context, *tool.Call) (tool.Result, error) {
		stored(child.Path(), "tool_call_start", `"of the child"`)
		stored(parent.Path(), "tool_call_start", `"of the parent"`)
		return tool.Result{Text: "done"}, nil
	}}
	delegate := &fakeTool{"delegate", func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		child = e.open(session.Spec{Parent: parent, System: "child", Tools: []tool.Tool{touch}})
		out := child.Prompt(ctx, "go")
		return tool.Result{Text: out.Text}, child.End(out.Status, out.Err)
	}}
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		if req.System == "child" {
			calls(call("of the child", "touch", "x"))(ctx, req, yield)
			return
		}
		calls(call("of the parent", "delegate", "x"))(ctx, req, yield)
	}, say("ok")}
	e = newEnvOn(t, at, m, func(o *session.Options) {
		o.Approver = approval.ApproverFunc(func(_ context.Context, req *approval.Approval) (approval.Answer, error) {
			stored(child.Path(), "tool_approval_required", req.ID)
			return approval.Answer{Verdict: approval.ApproveOnce}, nil
		})
	})
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow), rule("touch", "*", permission.Ask))
	parent = e.open(session.Spec{Tools: []tool.Tool{delegating{delegate}}})
	out := parent.Prompt(t.Context(), "go")
	e.end(parent, out)
	if out.Status != record.Completed {
		t.Errorf("outcome %+v", out)
	}
}

// delegating is a tool that changes nothing itself, and bounds its calls itself.
type delegating struct{ *fakeTool }

func (d delegating) Spec() tool.Spec {
	spec := d.fakeTool.Spec()
	spec.Delegates = true
	return spec
}
