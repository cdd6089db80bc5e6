package taskt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// planner is a model that leads, plans and builds, each as its system prompt says. What
// its calls have brought is kept: "as NAME: TOOL ok" or the error.
type planner struct {
	args string // of the call of task by the agent lead
	seen []string
}

func (p *planner) Name() string { return "planner" }

func (p *planner) stream(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	_, as, _ := strings.Cut(req.System, `You are the agent "`)
	as, _, _ = strings.Cut(as, `"`)
	last := req.Messages[len(req.Messages)-1]
	for _, r := range last.ToolResults {
		outcome := "ok"
		if r.IsError {
			outcome = r.Text
		}
		p.seen = append(p.seen, fmt.Sprintf("as %s: %s %s", as, r.ToolCallID[:strings.Index(r.ToolCallID, "/")], outcome))
	}
	call := func(name, args string) {
		yield(model.ToolCall{ID: fmt.Sprintf("%s/%d", name, len(req.Messages)), Name: name, Arguments: args})
	}
	switch {
	case as == "lead" && len(req.Messages) == 1:
		call("task", p.args)
	case as == "plan" && len(req.Messages) == 1:
		call("a", `{"v":"x"}`)
		call("plan_exit", `{"plan":"the plan"}`)
	case as == "build" && (len(last.ToolResults) == 2 || len(last.ToolResults) == 0): // it has just begun, or goes on
		for _, name := range []string{"a", "b", "c", "plan_exit"} {
			call(name, `{"v":"x"}`)
		}
	default:
		return answer("done as "+as)(ctx, req, yield)
	}
	yield(model.Stop{Reason: model.StopToolCalls})
	return nil
}

func (p *planner) open(t *testing.T, files map[string]string) *env {
	t.Helper()
	files["lead.md"] = "---\ndescription: d\npermission:\n  \"*\": allow\n  b: deny\n  task: {\"*\": allow, \"held\": deny}\n---\n"
	return setup{
		model: modelFunc(p.stream), approver: approval.AlwaysYes, limits: taskt.Limits{Depth: 2}, files: files,
		tools: []tool.Tool{plain("a"), plain("b"), plain("c")},
	}.open(t)
}

const planFile = "---\ndescription: d\nplanExit: %s\npermission:\n  \"*\": deny\n  plan_exit: allow\n---\n"

// TestPlanExit: a session that becomes another agent has the rules of that one instead of its
// own. The rules of the sessions above it still hold.
func TestPlanExit(t *testing.T) {
	p := &planner{args: `{"description":"d","prompt":"p","agentType":"plan"}`}
	e := p.open(t, map[string]string{
		"plan.md":  fmt.Sprintf(planFile, "build"),
		"build.md": "---\ndescription: d\nbudget: {tokens: 100k}\npermission:\n  \"*\": allow\n  c: deny\n---\n",
	})
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "lead"}); res.Err != nil || !strings.Contains(strings.Join(p.seen, "\n"), "as lead: task ok") {
		t.Fatal(res.Err, p.seen)
	}
	p.expect(t, "as build: a a is denied by the rule *", "as build: plan_exit ok", // asked for by plan, and answered to build
		"as build: a ok", `as build: b b is denied by the rule b: {"*": deny} (.agents/agents/lead.md`,
		`as build: c c is denied by the rule c: {"*": deny} (.agents/agents/build.md`, `as build: plan_exit there is no tool "plan_exit"`)
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	child := records[slices.IndexFunc(records, func(r *record.Record) bool { return r.Depth == 2 })]
	state, err := e.sessions.Store().Index.State(t.Context(), child.Path)
	if err != nil || child.Agent != "build" || state.Record.Agent != "build" || child.Path[2].AgentType != "plan" {
		t.Fatalf("the record %+v, by its log %+v, %v", child, state.Record, err)
	}
	changes := 0
	for _, d := range e.stream(t, child.Path) {
		_, of, err := d.Event()
		if ev, ok := of.(event.AgentChanged); err != nil || ok && ev == (event.AgentChanged{Agent: "build", Before: "plan", Model: child.Model}) {
			changes++
		}
	}
	if changes != 1 {
		t.Errorf("the stream has the change %d times", changes)
	}

	p.seen = nil
	if res := e.resume(t, child.ID, "go on"); res.Err != nil || res.Record.Agent != "build" {
		t.Fatalf("the next run %+v", res)
	}
	p.expect(t, "as build: a ok", `as build: b b is denied by the rule b`, `as build: c c is denied by the rule c`, `as build: plan_exit there is no tool "plan_exit"`)
}

func (p *planner) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, line := range p.seen {
		if strings.HasPrefix(line, "as build") {
			got = append(got, line)
		}
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("the calls brought\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPlanExitRefused: a session can't become an agent that its caller could not have called.
// What a call restricts stays restricted.
func TestPlanExitRefused(t *testing.T) {
	const build = "---\ndescription: d\npermission: {\"*\": allow}\n%s\n---\n"
	for name, c := range map[string]struct{ next, call, want string }{
		"boss":    {"mode: primary", "", `the agent that has called you may not call the agent "boss"`},
		"private": {"callers: [host]", "", `the agent that has called you may not call the agent "private"`},
		"held":    {"", "", `you can't go on as the agent "held": task "held" is denied by the rule`},
		"apart":   {"isolation: worktree", "", `the agent "apart" works in a git worktree`},
		"gone":    {"disable: true", "", `there is no agent "gone", which planExit of plan names`},
		"build":   {"", `,"allowedTools":["a","plan_exit"]`, `as build: b there is no tool "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &planner{args: `{"description":"d","prompt":"p","agentType":"plan"` + c.call + `}`}
			e := p.open(t, map[string]string{"plan.md": fmt.Sprintf(planFile, name), name + ".md": fmt.Sprintf(build, c.next)})
			res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "lead"})
			if seen := strings.Join(p.seen, "\n"); res.Err != nil || !strings.Contains(seen, c.want) {
				t.Errorf("%v\n%s\nwant %s", res.Err, seen, c.want)
			}
		})
	}
}
