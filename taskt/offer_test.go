package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/offer"
)

func agentFile(fields ...string) string {
	return "---\ndescription: Does things.\n" + strings.Join(fields, "\n") + "\n---\nWork.\n"
}

// TestNames: an agent is found by its name in any case and by its aliases, and
// the result has its name.
func TestNames(t *testing.T) {
	e := newEnv(t, answer("done"), taskt.Limits{}, map[string]string{
		"deploy.md":  agentFile("aliases: [ship, Roll-Out]"),
		"Case.md":    agentFile(),
		"case.md":    agentFile(),
		"boss.md":    agentFile("mode: primary", "aliases: [chief]"),
		"general.md": agentFile("aliases: [explore, Deploy]"), // names come before aliases
	})
	for written, want := range map[string]string{
		"deploy": "deploy", "DEPLOY": "deploy", "Ship": "deploy", "roll-out": "deploy", "EXPLORE": "explore",
		"Case": "Case", "case": "case", "General": "general",
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: written})
		if res.Err != nil || res.Agent != want || res.Record.Agent != want || !strings.Contains(res.XML(), `agent="`+want+`"`) {
			t.Errorf("%q: ran %q (%v), want %q:\n%s", written, res.Agent, res.Err, want, res.XML())
		}
	}
	for written, want := range map[string]string{
		"boss":    `unknown agentType "boss"; accepted: Case, case, deploy (ship, Roll-Out), explore, general (explore, Deploy)`,
		"Chief":   `unknown agentType "Chief"; accepted: `,
		"deploy ": `unknown agentType "deploy "; accepted: `,
		"CASE":    `the agentType "CASE" could be any of Case, case: `,
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: written})
		var unknown *offer.UnknownAgentError
		if !errors.As(res.Err, &unknown) || !strings.HasPrefix(res.Text, want) || res.SessionID != "" {
			t.Errorf("%q: %v, want %s…", written, res.Err, want)
		}
	}
}

// TestRulesHoldForAliases: a rule about an agent can't be evaded by another
// spelling of its name.
func TestRulesHoldForAliases(t *testing.T) {
	e := setup{
		model:  answer("done"),
		files:  map[string]string{"deploy.md": agentFile("aliases: [ship]")},
		static: append(slices.Clone(allowAll), permission.Rule{Tool: "task", Pattern: "deploy", Action: permission.Deny}),
	}.open(t)
	for _, written := range []string{"deploy", "DEPLOY", "Deploy", "ship", "SHIP"} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: written})
		if !res.Refused || res.SessionID != "" || res.Agent != "deploy" {
			t.Errorf("%q: %+v, want it refused as deploy", written, res)
		}
	}
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "Explore"}); res.Err != nil {
		t.Errorf("Explore: %v, want it run", res.Err)
	}
}

// TestRulesInAnyCase: a rule that denies an agent holds however it writes the
// name; one that allows holds only as written.
func TestRulesInAnyCase(t *testing.T) {
	for _, tt := range []struct {
		rules   []permission.Rule
		refused bool
	}{
		{[]permission.Rule{{Tool: "task", Pattern: "*", Action: permission.Allow}, {Tool: "task", Pattern: "Deploy", Action: permission.Deny}}, true},
		{[]permission.Rule{{Tool: "task", Pattern: "*", Action: permission.Deny}, {Tool: "task", Pattern: "deploy", Action: permission.Allow}}, false},
		{[]permission.Rule{{Tool: "task", Pattern: "*", Action: permission.Deny}, {Tool: "task", Pattern: "Deploy", Action: permission.Allow}}, true},
	} {
		e := setup{
			model:  answer("done"),
			files:  map[string]string{"deploy.md": agentFile()},
			static: append(slices.Clone(allowAll), tt.rules...),
		}.open(t)
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "deploy"}); res.Refused != tt.refused {
			t.Errorf("%v: refused %v (%v), want %v", tt.rules, res.Refused, res.Err, tt.refused)
		}
	}
}

// TestUnserved: the error of a call names the refused file of its agent.
func TestUnserved(t *testing.T) {
	e := newEnv(t, answer("done"), taskt.Limits{}, map[string]string{"deploy.md": agentFile("permission: {x: y}"), "Off.md": agentFile("disable: true")})
	for written, want := range map[string]string{
		"Deploy":  `the agent "deploy" of .agents/agents/deploy.md is not served (permission-invalid); accepted: explore, general`,
		"off":     `the agent "Off" of .agents/agents/Off.md is not served (agent-disabled); accepted: explore, general`,
		"nothing": `unknown agentType "nothing"; accepted: explore, general`,
	} {
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: written}); res.Text != want {
			t.Errorf("%q: %q, want %q", written, res.Text, want)
		}
	}
}

// TestSealed: where a folder that can't be read in full may restrict every agent,
// a call says which agent is not served, and why.
func TestSealed(t *testing.T) {
	root := t.TempDir()
	for i := range 5001 { // more than are read
		if err := os.MkdirAll(filepath.Join(root, ".claude", "agents", strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := agentdefs.Load(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := setup{model: answer("done"), agents: agentsFunc(func() *agentdefs.Snapshot { return sealed })}.open(t)
	why := `the built-in agent "explore" is not served: .claude/agents cannot be read in full, and may restrict it (file-unreadable)`
	for written, want := range map[string]string{
		"Explore": why + "; no agent is accepted here",
		"nothing": `unknown agentType "nothing"; no agent is accepted here: ` + why + ", and 1 more",
	} {
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: written}); res.Text != want {
			t.Errorf("%q: %q, want %q", written, res.Text, want)
		}
	}
}

// agentsFunc is where agents come from, as a function.
type agentsFunc func() *agentdefs.Snapshot

func (f agentsFunc) Snapshot() *agentdefs.Snapshot { return f() }

func (f agentsFunc) Changes(context.Context) iter.Seq[agentdefs.Change] {
	return slices.Values([]agentdefs.Change{{Snapshot: f()}})
}

// TestJudgedIsRun: where a name comes to mean another agent between the gate's
// decision and the run, the call is refused.
func TestJudgedIsRun(t *testing.T) {
	before := map[string]string{"deploy.md": agentFile("aliases: [ship]"), "review.md": agentFile()}
	for name, tt := range map[string]struct {
		written string
		after   map[string]string
		want    string // in the tool's result
	}{
		"the alias has moved":   {"ship", map[string]string{"deploy.md": agentFile(), "review.md": agentFile("aliases: [ship]")}, `"ship" is now the agent "review": call again`},
		"a name hides an alias": {"ship", map[string]string{"ship.md": agentFile(), "deploy.md": agentFile()}, `"ship" is now the agent "ship": call again`},
		"the case decides":      {"DEPLOY", map[string]string{"DEPLOY.md": agentFile(), "deploy.md": agentFile()}, `"DEPLOY" is now the agent "DEPLOY": call again`},
		"an alias is new":       {"other", map[string]string{"deploy.md": agentFile("aliases: [other]")}, `"other" is now the agent "deploy": call again`},
		"the agent has gone":    {"deploy", map[string]string{"review.md": agentFile()}, `unknown agentType "deploy"`},
		"nothing of it":         {"ship", map[string]string{"deploy.md": agentFile("aliases: [ship]")}, `<task_result agent="deploy">`},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[agentdefs.Snapshot]
			now.Store(snapshot(t, before))
			after := snapshot(t, tt.after)
			var result string
			e := setup{
				model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
					if text, n := prompt(req); text == "go" && n == 0 {
						_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: fmt.Sprintf(`{"description":"d","prompt":"p","agentType":%q}`, tt.written)}) &&
							yield(model.Stop{Reason: model.StopToolCalls})
						return nil
					} else if text == "go" {
						result = req.Messages[2].ToolResults[0].Text
					}
					return answer("done")(ctx, req, yield)
				}),
				static: static{{Tool: "*", Pattern: "*", Action: permission.Ask}},
				approver: approval.ApproverFunc(func(context.Context, *approval.Approval) (approval.Answer, error) {
					now.Store(after) // the call has been judged, and has not run
					return approval.Answer{Verdict: approval.ApproveOnce}, nil
				}),
				agents: agentsFunc(now.Load),
			}.open(t)
			root, err := e.OpenPrimary(t.Context(), &agentdefs.Definition{Name: "primary", Mode: agentdefs.Primary, MaxSteps: 5}, "test")
			if err != nil {
				t.Fatal(err)
			}
			if out := root.Prompt(t.Context(), "go"); out.Err != nil {
				t.Fatal(out.Err)
			}
			if !strings.Contains(result, tt.want) {
				t.Errorf("%q: the result is\n%s\nwant %s", tt.written, result, tt.want)
			}
		})
	}
}

// offered returns the enum of a task tool.
func offered(t testing.TB, inputSchema json.RawMessage) []string {
	t.Helper()
	var got struct {
		Properties struct{ AgentType struct{ Enum []string } }
	}
	if err := json.Unmarshal(inputSchema, &got); err != nil {
		t.Fatal(err)
	}
	return got.Properties.AgentType.Enum
}

// TestCallers: every session is offered the agents that it may call, and can
// call no other.
func TestCallers(t *testing.T) {
	offers := map[string][]string{}
	refused := map[string]string{}
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		who, _, _ := strings.Cut(req.System, ".")
		for _, spec := range req.Tools {
			if spec.Name == "task" {
				offers[who] = offered(t, spec.InputSchema)
			}
		}
		text, n := prompt(req)
		if text == "p" || n > 0 {
			if n > 0 {
				refused[who] = req.Messages[2].ToolResults[0].Text
			}
			return answer("ok")(ctx, req, yield)
		}
		_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: fmt.Sprintf(`{"description":"d","prompt":"p","agentType":%q}`, text)}) &&
			yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	})
	e := newEnv(t, m, taskt.Limits{Depth: 3}, map[string]string{
		"Lead.md":   agentFile(),
		"helper.md": agentFile("callers: [lead]", "aliases: [aid]"),
		"front.md":  agentFile("callers: host"),
		"both.md":   agentFile("callers: [host, LEAD]"),
		"host.md":   agentFile(), // of that name, and not the host
		"ghost.md":  agentFile("hidden: true", "aliases: [spirit]"),
	})
	anyone := []string{"explore", "general", "host", "Lead"}
	sorted := func(names ...string) []string { return slices.Sorted(slices.Values(slices.Concat(anyone, names))) }

	if got, want := offered(t, e.spec().InputSchema), sorted("both", "front"); !slices.Equal(got, want) {
		t.Errorf("the host is offered %v, want %v", got, want)
	}
	var listed []string
	for _, a := range e.Offer().Agents {
		listed = append(listed, a.Name)
	}
	if want := sorted("both", "front"); !slices.Equal(listed, want) {
		t.Errorf("hosts are listed %v, want %v", listed, want)
	}
	if d := e.spec().Description; strings.Contains(d, "helper") || strings.Contains(d, "ghost") || !strings.Contains(d, "- front: ") {
		t.Errorf("the description:\n%s", d)
	}
	for _, tt := range []struct{ caller, calls, want string }{
		{"Lead", "helper", "<task_result agent=\"helper\">"},
		{"Lead", "AID", "<task_result agent=\"helper\">"},
		{"Lead", "both", "<task_result agent=\"both\">"},
		{"Lead", "front", `the agent "front" may be called by host only; accepted: `},
		{"host", "front", `the agent "front" may be called by host only; accepted: `},
		{"general", "helper", `the agent "helper" may be called by lead only; accepted: `},
		{"general", "spirit", "<task_result agent=\"ghost\">"},
	} {
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: tt.calls, AgentType: tt.caller}); res.Err != nil {
			t.Fatal(res.Err)
		}
		if got := refused[fmt.Sprintf("You are the agent %q", tt.caller)]; !strings.Contains(got, tt.want) {
			t.Errorf("%s calls %s: %s, want %s", tt.caller, tt.calls, got, tt.want)
		}
	}
	for agent, want := range map[string][]string{"Lead": sorted("both", "helper"), "host": anyone, "general": anyone} {
		want = slices.Sorted(slices.Values(want))
		if got := offers[fmt.Sprintf("You are the agent %q", agent)]; !slices.Equal(got, want) {
			t.Errorf("%s is offered %v, want %v", agent, got, want)
		}
	}
	for _, tt := range []struct{ calls, want string }{
		{"helper", `the agent "helper" may be called by lead only; accepted: `},
		{"Aid", `the agent "helper" may be called by lead only; accepted: `},
		{"ghost", "ok"},
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: tt.calls})
		if !strings.HasPrefix(res.Text, tt.want) {
			t.Errorf("the host calls %s: %s, want %s", tt.calls, res.Text, tt.want)
		}
	}
}

// TestAllowAgents: a file says whom its agent may call, and agents_list shows the
// same as task (O5).
func TestAllowAgents(t *testing.T) {
	listed, refusal := "", ""
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		call := func(name, args string) error {
			_ = yield(model.ToolCall{ID: name, Name: name, Arguments: args}) && yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		}
		text, n := prompt(req)
		switch {
		case text == "leaf":
			return answer("ok")(ctx, req, yield)
		case n == 0:
			return call("agents_list", "{}")
		case n == 1:
			listed = req.Messages[2].ToolResults[0].Text
			return call("task", `{"description":"d","prompt":"leaf","agentType":"general"}`)
		}
		refusal = req.Messages[4].ToolResults[0].Text
		return answer("ok")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 3}, map[string]string{
		"lead.md":   agentFile("allowAgents: [Helper, front, ghost]"),
		"helper.md": agentFile("aliases: [aid]"),
		"front.md":  agentFile("callers: host"),
		"ghost.md":  agentFile("hidden: true"),
	})
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "lead", AgentType: "lead"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	if !strings.HasPrefix(listed, "- helper (aid): ") || strings.Count(listed, "\n") != 1 {
		t.Errorf("agents_list: %q, want only helper", listed)
	}
	if want := "you may not call the agent \"general\" (allowAgents of your agent file); accepted: helper (aid)"; !strings.Contains(refusal, want) {
		t.Errorf("calling another one: %q, want %q", refusal, want)
	}
}

// TestToldOfItsCaller: an agent reads that an agent has called it, if its file asks for that
// (G8).
func TestToldOfItsCaller(t *testing.T) {
	const line = "Your caller is another agent"
	told, plain := &agentdefs.Definition{Name: "a", CalledByAgent: true}, &agentdefs.Definition{Name: "a"}
	if p := taskt.SystemPrompt(told, taskt.Setting{Root: "/w", Child: true}); strings.Count(p, line) != 1 {
		t.Errorf("with caller: agent:\n%s", p)
	}
	for _, p := range []string{taskt.SystemPrompt(plain, taskt.Setting{Root: "/w", Child: true}), taskt.SystemPrompt(told, taskt.Setting{Root: "/w"})} {
		if strings.Contains(p, "nother agent") || strings.Contains(p, "caller") {
			t.Errorf("without it, or as a primary agent:\n%s", p)
		}
	}
}

// TestNobodyToCall: where a session may call no agent, the tool is not offered.
func TestNobodyToCall(t *testing.T) {
	var names []string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		for _, spec := range req.Tools {
			names = append(names, spec.Name)
		}
		return answer("ok")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{Depth: 2}, map[string]string{
		"general.md": agentFile("callers: host"),
		"explore.md": agentFile("disable: true"),
	})
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "general"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	if strings.Join(names, " ") != "todo plan" || e.spec().Unavailable {
		t.Errorf("the child is offered %v, want no task; the host's tool: unavailable %v", names, e.spec().Unavailable)
	}
}
