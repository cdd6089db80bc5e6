package session_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// brokenRules are the last good rules of a file that is broken now.
type brokenRules struct {
	static
	err error
}

func (b *brokenRules) Rules() (*permission.Ruleset, error) { return b.rules, b.err }

// TestBrokenRulesAreSaidOnce: not at each call that they judge.
func TestBrokenRulesAreSaidOnce(t *testing.T) {
	var logged bytes.Buffer
	rules := &brokenRules{err: errors.New("permissions.jsonc:3: broken")}
	rules.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
	e := newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), calls(call("3", "a", "z")), say("done")}, func(o *session.Options) {
		o.Static = rules
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	})
	run := func() {
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
		e.end(s, s.Prompt(t.Context(), "go"))
	}
	for i, tt := range []struct {
		err  error
		want int
	}{{rules.err, 1}, {rules.err, 1}, {errors.New("permissions.jsonc:4: broken otherwise"), 2}, {nil, 2}, {rules.err, 3}} {
		rules.err = tt.err
		run()
		if got := strings.Count(logged.String(), "last good permission rules"); got != tt.want {
			t.Errorf("round %d: said %d times, want %d", i, got, tt.want)
		}
	}
	if strings.Count(logged.String(), "in force again") != 1 {
		t.Errorf("that they are good again is not said once:\n%s", &logged)
	}
}
