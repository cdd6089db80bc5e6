//go:build unix

package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy/policytest"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// pair is a tool with a value for each word of its argument. The word "perhaps" is one that it may or may not want.
type pair struct{ *fakeTool }

func (p pair) Values(args json.RawMessage) (values []permission.Value, err error) {
	one, err := p.fakeTool.Values(args)
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(one[0].Text) {
		v := permission.Value{Tool: p.name, Text: word}
		if word == "perhaps" {
			v.Certainty = permission.Possible
		}
		values = append(values, v)
	}
	return values, nil
}

// settings are the rules in the settings of other programs.
type settings struct{ *permission.Ruleset }

func (s settings) Rules() (rules, granted []*permission.Ruleset, wrong error) {
	return []*permission.Ruleset{s.Ruleset}, nil, nil
}

// reviewer is a model that allows every call, and does something before it answers.
func reviewer(asked *atomic.Int32, before func()) turns {
	return turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		asked.Add(1)
		before()
		say(`{"verdict": "allow", "reason": "it serves the task"}`)(ctx, req, yield)
	}}
}

// reviewed has a session call a tool with an argument, and returns what the model is told and how often its reviewer was asked.
func reviewed(t *testing.T, own tool.Tool, arg string, before func(*env), change func(*session.Options), static ...permission.Rule) (told string, asked int32) {
	t.Helper()
	var n atomic.Int32
	var e *env
	judge := reviewer(&n, func() { before(e) })
	e = newEnv(t, nil, func(o *session.Options) {
		m := turns{calls(call("1", "touch", arg)), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			told = req.Messages[len(req.Messages)-1].ToolResults[0].Text
			say("ok")(ctx, req, yield)
		}}
		o.Reviewer, o.Unattended = "judge", true
		o.Model = func(name string) (model.Model, error) {
			if name == "judge" {
				return judge, nil
			}
			return m, nil
		}
		change(o)
	})
	e.static.rules = permission.MustRuleset(static...)
	s := e.open(session.Spec{Tools: []tool.Tool{own}})
	e.end(s, s.Prompt(t.Context(), "go"))
	return told, n.Load()
}

// TestNotReviewed: what is for a person alone is so whichever value of the call it is about. Neither a reviewer nor a
// hook answers it.
func TestNotReviewed(t *testing.T) {
	ask := rule("touch", "two", permission.Ask)
	hook := func(event, decision string) func(*session.Options) {
		return func(o *session.Options) {
			o.Hooks, _ = hooksOf(t, `{"`+event+`": [{"hooks": [{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"`+event+`\", `+decision+`}}'"}]}]}`)
		}
	}
	asks := hook("PreToolUse", `\"permissionDecision\": \"ask\"`)
	allows := hook("PermissionRequest", `\"decision\": {\"behavior\": \"allow\"}`)
	for name, tt := range map[string]struct {
		value    string
		change   func(*session.Options)
		static   []permission.Rule
		personal bool // as a question that only a person answers
	}{
		"nothing": {value: "two", change: func(*session.Options) {}},
		"policy": {value: "two", personal: true, change: func(o *session.Options) {
			o.Policy, _ = policytest.Open(t, `{"rules": {"touch": {"two": "ask"}}}`)
		}},
		"settings": {value: "two", personal: true, change: func(o *session.Options) { o.Settings = settings{permission.MustRuleset(ask)} }},
		"hook":     {value: "two", personal: true, change: asks},
		"second person": {value: "two", personal: true, change: func(o *session.Options) {
			o.Policy, _ = policytest.Open(t, `{"secondPerson": {"touch": {"two": "ask"}}}`)
		}},
		"possible deny": {value: "perhaps", personal: true, change: func(*session.Options) {}, static: []permission.Rule{rule("touch", "perhaps", permission.Deny)}},
	} {
		for _, arg := range []string{tt.value, tt.value + " one", "one " + tt.value} {
			t.Run(name+"/"+arg, func(t *testing.T) {
				told, n := reviewed(t, pair{echo("touch")}, arg, func(*env) {}, tt.change, tt.static...)
				if reviewed := n == 1 && strings.HasPrefix(told, "touch {"); reviewed == tt.personal || tt.personal && (n != 0 || !strings.Contains(told, "Nobody can answer") && !strings.Contains(told, "No second person")) {
					t.Errorf("the reviewer was asked %d times, the model is told %q", n, told)
				}
				if name == "hook" {
					return
				}
				told, _ = reviewed(t, pair{echo("touch")}, arg, func(*env) {}, func(o *session.Options) { tt.change(o); allows(o); o.Reviewer = "" }, tt.static...)
				if strings.HasPrefix(told, "touch {") == tt.personal {
					t.Errorf("a hook allows it: the model is told %q", told)
				}
			})
		}
	}
}

// TestChangedWhileReviewed: a call whose rules have changed while the reviewer judged it is for a person.
func TestChangedWhileReviewed(t *testing.T) {
	asks := func(e *env) { e.static.rules = permission.MustRuleset(rule("touch", "two", permission.Ask)) }
	told, n := reviewed(t, pair{echo("touch")}, "two", asks, func(*session.Options) {})
	if n != 1 || !strings.Contains(told, "has changed while the reviewer") || !strings.Contains(told, "Nobody can answer") {
		t.Errorf("asked %d times, the model is told %q", n, told)
	}
}
