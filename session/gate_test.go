package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// answers is an approver that gives the same answer to all and keeps the
// requests.
type answers struct {
	answer approval.Answer
	err    error
	mu     sync.Mutex
	asked  []*approval.Approval
}

func (a *answers) Approve(_ context.Context, req *approval.Approval) (approval.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, req)
	return a.answer, a.err
}

func TestGate(t *testing.T) {
	all := func(action permission.Action) []permission.Rule { return []permission.Rule{rule("*", "*", action)} }
	yes := &answers{answer: approval.Answer{Verdict: approval.ApproveOnce}}
	tests := []struct {
		name     string
		parent   []permission.Rule
		agent    []permission.Rule
		static   []permission.Rule
		approver approval.Approver
		runs     bool
		text     string // in the tool's result
	}{
		{name: "allowed", agent: all(permission.Allow), static: all(permission.Allow), runs: true},
		{name: "denied by the agent", agent: all(permission.Deny), static: all(permission.Allow), approver: yes, text: "rules:1"},
		{name: "denied by a static rule", agent: all(permission.Allow), static: all(permission.Deny), approver: yes, text: "rules:1"},
		{name: "denied for the value", agent: []permission.Rule{rule("*", "*", permission.Allow), rule("touch", "*.env", permission.Deny)}, static: all(permission.Allow), text: ".env"},
		{name: "denied by the parent", parent: all(permission.Deny), agent: all(permission.Allow), static: all(permission.Allow), approver: yes, text: "rules:1"},
		{name: "asked by the parent", parent: all(permission.Ask), agent: all(permission.Allow), text: "Nobody can answer"},
		{name: "asked, nobody there", agent: all(permission.Allow), static: all(permission.Ask), text: `add to permissions.jsonc: "touch": {`},
		{name: "no rule at all", text: "Nobody can answer"},
		{name: "asked, approved", static: all(permission.Ask), approver: yes, runs: true},
		{name: "asked, denied", static: all(permission.Ask), approver: &answers{}, text: "The user denied touch."},
		{name: "asked, denied with a reason", static: all(permission.Ask), approver: &answers{answer: approval.Answer{Feedback: "use the copy"}}, text: "The user denied touch: use the copy"},
		{name: "asked, no answer", static: all(permission.Ask), approver: &answers{answer: approval.Answer{Verdict: approval.ApproveOnce}, err: errors.New("the terminal was closed")}, text: "the terminal was closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			touch := &fakeTool{"touch", func(context.Context, *tool.Call) (tool.Result, error) {
				ran = true
				return tool.Result{Text: "touched"}, nil
			}}
			var result model.ToolResult
			m := turns{calls(call("1", "touch", "dir/.env")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
				result = req.Messages[len(req.Messages)-1].ToolResults[0]
				say("ok")(ctx, req, yield)
			}}
			e := newEnv(t, m, func(o *session.Options) { o.Approver, o.Unattended = tt.approver, tt.approver == nil })
			e.static.rules = permission.MustRuleset(tt.static...)
			var parent *session.Session
			if tt.parent != nil {
				parent = e.open(session.Spec{Agent: "parent", Rules: permission.MustRuleset(tt.parent...)})
			}
			s := e.open(session.Spec{Parent: parent, Tools: []tool.Tool{touch}, Rules: permission.MustRuleset(tt.agent...)})
			e.end(s, s.Prompt(t.Context(), "go"))
			if ran != tt.runs || result.IsError == tt.runs || !strings.Contains(result.Text, tt.text) {
				t.Errorf("ran %v, result %+v, want ran %v with %q", ran, result, tt.runs, tt.text)
			}
			asked, resolved := 0, 0
			for _, ev := range e.events(s) {
				switch ev.(type) {
				case event.ToolApprovalRequired:
					asked++
				case event.ToolApprovalResolved:
					resolved++
				}
			}
			if asked != resolved {
				t.Errorf("%d approvals were asked for, %d resolved", asked, resolved)
			}
		})
	}
}

// TestAlways: an "always" counts for the rest of the session, and is handed to
// the static rules.
func TestAlways(t *testing.T) {
	approver := &answers{answer: approval.Answer{Verdict: approval.ApproveAlways}}
	m := turns{
		calls(call("1", "touch", "a file")), calls(call("2", "touch", "a file")), calls(call("3", "touch", "another")), say("ok"),
	}
	e := newEnv(t, m, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s := e.open(session.Spec{Tools: []tool.Tool{echo("touch")}})
	e.end(s, s.Prompt(t.Context(), "go"))
	var asked []string
	for _, req := range approver.asked {
		asked = append(asked, req.Patterns...)
		if !slices.Equal(req.Patterns, req.AlwaysPatterns) || req.SessionID != s.ID() || req.Agent != "agent" || req.Tool != "touch" {
			t.Errorf("request %+v", req)
		}
	}
	if fmt.Sprint(asked) != "[a file another]" || fmt.Sprint(e.static.added) != "[touch a file touch another]" {
		t.Errorf("asked %v, added %v", asked, e.static.added)
	}
}

// TestWaitingIsNotRunning: while a call waits for an answer, the record shows that, and the time
// limit stands still.
func TestWaitingIsNotRunning(t *testing.T) {
	var e *env
	var s *session.Session
	approver := approval.ApproverFunc(func(ctx context.Context, req *approval.Approval) (approval.Answer, error) {
		if r, err := e.Store().Index.Get(ctx, s.ID()); err != nil || r.Status != record.WaitingApproval {
			t.Errorf("while waiting: %+v, %v", r, err)
		}
		return approval.Answer{Verdict: approval.ApproveOnce}, nil
	})
	e = newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), say("ok")}, func(o *session.Options) { o.Approver = approver })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask))
	s = e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
	out := s.Prompt(t.Context(), "go")
	if r := s.Record(); r.Status != record.Running || out.Text != "ok" {
		t.Errorf("after the answer: %+v, %+v", r, out)
	}
	e.end(s, out)
}

// TestReadable: what a search may show is what neither read_file nor the search is denied.
func TestReadable(t *testing.T) {
	var got map[string]bool
	look := &fakeTool{"look", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		got = make(map[string]bool)
		for _, path := range []string{"main.go", ".env", "a/b/.env", "../outside", "a\x00b", "private/x"} {
			got[path] = call.Readable(path)
		}
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "look", "x")), say("ok")}, nil)
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow), rule("read_file", "*.env", permission.Deny), rule("look", "private/**", permission.Deny))
	s := e.open(session.Spec{Tools: []tool.Tool{look}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if !got["main.go"] || got[".env"] || got["a/b/.env"] || got["a\x00b"] || got["private/x"] {
		t.Errorf("readable: %v", got)
	}
}

// movingTool is a tool whose values change: its path is a link that leads
// elsewhere each time.
type movingTool struct {
	fakeTool
	targets []string
}

func (m *movingTool) Values(json.RawMessage) ([]permission.Value, error) {
	target := m.targets[0]
	if len(m.targets) > 1 {
		m.targets = m.targets[1:]
	}
	return []permission.Value{{Tool: m.name, Text: "link"}, {Tool: m.name, Text: target}}, nil
}

// TestMovedWhileWaiting: an answer covers the path that was asked about, and where it leads by then.
func TestMovedWhileWaiting(t *testing.T) {
	for target, runs := range map[string]bool{"open": true, "secret": false} {
		ran := false
		move := &movingTool{fakeTool{"move", func(_ context.Context, call *tool.Call) (tool.Result, error) {
			ran = call.Approved
			return tool.Result{Text: "ok"}, nil
		}}, []string{"open", target}}
		var result model.ToolResult
		m := turns{calls(call("1", "move", "link")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			result = req.Messages[len(req.Messages)-1].ToolResults[0]
			say("ok")(ctx, req, yield)
		}}
		e := newEnv(t, m, func(o *session.Options) { o.Approver = approval.AlwaysYes })
		e.static.rules = permission.MustRuleset(rule("*", "*", permission.Ask), rule("move", "secret", permission.Deny))
		s := e.open(session.Spec{Tools: []tool.Tool{move}})
		e.end(s, s.Prompt(t.Context(), "go"))
		if ran != runs || !runs && !strings.Contains(result.Text, "secret") {
			t.Errorf("it leads to %s when it is approved: ran is %v, the model is told %q", target, ran, result.Text)
		}
	}
}

// sandboxedTool is a tool that starts programs.
type sandboxedTool struct {
	fakeTool
	held  bool
	ended []string
}

func (s *sandboxedTool) Held(string, *permission.Layers) (bool, string) {
	return s.held, "there is none"
}

func (s *sandboxedTool) EndSession(id string) error {
	s.ended = append(s.ended, id)
	return nil
}

// TestSandboxed: what no sandbox holds is asked about, with the reason; a host is
// judged when a program wants it, by rules that name it.
func TestSandboxed(t *testing.T) {
	rules := []permission.Rule{
		rule("*", "*", permission.Allow), rule("network", "*", permission.Allow), rule("network", "bad.example:*", permission.Deny),
		rule("network", "10.0.0.1:*", permission.Allow),
	}
	for _, held := range []bool{true, false} {
		hosts := make(map[string]error)
		run := &sandboxedTool{held: held, fakeTool: fakeTool{"run", func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			for _, host := range []string{"good.example:443", "bad.example:443", "10.0.0.1:22", "10.0.0.2:22", "localhost:80"} {
				hosts[host] = call.Judge(ctx, permission.Value{Tool: tool.NetworkTool, Text: host})
			}
			return tool.Result{Text: "ok"}, nil
		}}}
		var result model.ToolResult
		m := turns{calls(call("1", "run", "x")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			result = req.Messages[len(req.Messages)-1].ToolResults[0]
			say("ok")(ctx, req, yield)
		}}
		e := newEnv(t, m, func(o *session.Options) { o.Unattended = true })
		e.static.rules = permission.MustRuleset(rules...)
		s := e.open(session.Spec{Tools: []tool.Tool{run}})
		e.end(s, s.Prompt(t.Context(), "go"))
		if !slices.Equal(run.ended, []string{s.ID()}) {
			t.Errorf("the tool heard of the end of %q", run.ended)
		}
		if !held {
			if !strings.Contains(result.Text, "there is none") || len(hosts) > 0 {
				t.Errorf("not held: the model is told %q, asked about %v", result.Text, hosts)
			}
			continue
		}
		for host, allowed := range map[string]bool{"good.example:443": true, "bad.example:443": false, "10.0.0.1:22": true, "10.0.0.2:22": false, "localhost:80": false} {
			if (hosts[host] == nil) != allowed {
				t.Errorf("%s: %v, want it allowed: %v", host, hosts[host], allowed)
			}
		}
	}
}

// TestReadableLinks: a link is judged by where it leads, also in a folder whose
// files have just their own names, and below a folder that is a link.
func TestReadableLinks(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"open", "private"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "a"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"open/link": "../private/a", "folder": "private"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := []bool{true, true, false, false, false, true}
	var got []bool
	look := &fakeTool{"look", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		for _, path := range []string{"open/a", "open/a", "open/link", "folder/a", "private/a", "open/none"} {
			got = append(got, call.Readable(path))
		}
		return tool.Result{Text: "ok"}, nil
	}}
	e := newEnv(t, turns{calls(call("1", "look", "x")), say("ok")}, func(o *session.Options) { o.Workspace.Root = root })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow), rule("read_file", "private/**", permission.Deny))
	s := e.open(session.Spec{Tools: []tool.Tool{look}})
	e.end(s, s.Prompt(t.Context(), "go"))
	if !slices.Equal(got, want) {
		t.Errorf("readable: %v, want %v", got, want)
	}
}

// TestCallerGate: a caller's own call passes the same gate.
func TestCallerGate(t *testing.T) {
	for _, tt := range []struct {
		static  permission.Action
		refused bool
	}{
		{permission.Allow, false}, {permission.Ask, false}, {permission.Deny, true},
	} {
		e := newEnv(t, turns{say("ok")}, nil)
		e.static.rules = permission.MustRuleset(rule("*", "*", tt.static))
		s, err := e.Open(t.Context(), session.Spec{Tools: []tool.Tool{echo("a")}, Approver: approval.AlwaysYes})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Call(t.Context(), "a", json.RawMessage(`{"v":"x"}`))
		if err != nil || res.Refused != tt.refused || res.IsError != tt.refused {
			t.Errorf("static %s: %+v, %v", tt.static, res, err)
		}
		e.end(s, session.Outcome{Status: record.Completed})
		got := types(e.events(s))
		if !strings.HasPrefix(got, "session_start =queued =executing_tool tool_call_start ") || !strings.HasSuffix(got, "tool_call_end turn_complete =idle session_end") {
			t.Errorf("static %s: events %s", tt.static, got)
		}
	}
}
