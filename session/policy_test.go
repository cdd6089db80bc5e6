//go:build unix

package session_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy/policytest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/tool"
)

// TestPolicyIsAboveAll: what it denies nobody can approve, "always" is not offered, a
// change counts for the next call, and a file that breaks refuses all.
func TestPolicyIsAboveAll(t *testing.T) {
	above, file := policytest.Open(t, `{"rules": {"touch": {"no": "deny", "perhaps": "ask"}}, "always": false}`)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	approver := &answers{answer: approval.Answer{Verdict: approval.ApproveAlways}}
	var results []string
	next := func(change, arg string) func(context.Context, *model.Request, func(model.Part, error) bool) {
		return func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			if last := req.Messages[len(req.Messages)-1]; len(last.ToolResults) > 0 {
				results = append(results, last.ToolResults[0].Text)
			}
			if change != "" {
				write(change)
			}
			if arg == "" {
				say("done")(ctx, req, yield)
				return
			}
			calls(call(arg, "touch", arg))(ctx, req, yield)
		}
	}
	e := newEnv(t, turns{
		next("", "no"), next("", "perhaps"), next(`{"rules": {"touch": "deny"}}`, "late"), next(`{"rules": {`, "broken"), next(`{}`, "free"), next("", ""),
	}, func(o *session.Options) { o.Approver, o.Policy = approver, above })
	s := e.open(session.Spec{Tools: []tool.Tool{echo("touch")}, Rules: permission.MustRuleset(rule("*", "*", permission.Allow))})
	e.end(s, s.Prompt(t.Context(), "go"))
	wants := []string{"nobody can approve", "perhaps", "nobody can approve", "policy.jsonc:1", "free"}
	if len(results) != len(wants) {
		t.Fatalf("results %q", results)
	}
	for i, want := range wants {
		if !strings.Contains(results[i], want) {
			t.Errorf("call %d: %q, want %q", i+1, results[i], want)
		}
	}
	if len(approver.asked) != 1 || len(approver.asked[0].AlwaysPatterns) > 0 || !strings.Contains(approver.asked[0].Reason, "forbids rules that last") {
		t.Errorf("asked %+v", approver.asked)
	}
	if len(e.static.added) > 0 {
		t.Errorf("rules were added: %v", e.static.added)
	}
	start, ok := e.events(s)[0].(event.SessionStart)
	if !ok || !strings.HasPrefix(start.Policy, "sha256:") || s.Record().Policy != start.Policy {
		t.Errorf("the policy in session_start is %q, in the record %q", start.Policy, s.Record().Policy)
	}
	write(`[]`)
	if _, err := e.Open(t.Context(), session.Spec{Agent: "agent"}); err == nil || !strings.Contains(err.Error(), "policy.jsonc:1") {
		t.Errorf("a session began under a policy that can't be read: %v", err)
	}
}
