package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/tool"
)

// hooksOf returns a runner of hooks, as a config file has them. $SEEN in their commands is a file.
func hooksOf(t *testing.T, text string) (r *hooks.Runner, seen string) {
	t.Helper()
	seen = filepath.Join(t.TempDir(), "seen")
	own, err := hookconfig.Parse([]byte(strings.ReplaceAll(text, "$SEEN", seen)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = hooks.New(hooks.Options{Root: t.TempDir(), Own: own, Shell: "/bin/sh", Env: os.Environ()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, seen
}

// TestPromptHooks: hooks judge each prompt and each message that a person writes to a session
// without a parent. They add to the first one at the start, keep the agent at work, and learn of
// the end.
func TestPromptHooks(t *testing.T) {
	r, seen := hooksOf(t, `{
		"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo the house rules"}]}],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "case \"$(cat)\" in *forbidden*) echo never >&2; exit 2;; *) echo noted;; esac"}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "grep -q '\"stop_hook_active\":true' || { echo look again >&2; exit 2; }"}]}],
		"SessionEnd": [{"hooks": [{"type": "command", "command": "grep -o 'reason\":\"[a-z]*' >> $SEEN"}]}]
	}`)
	var asked []string
	var s *session.Session
	m := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		asked = append(asked, req.Messages[len(req.Messages)-1].Text)
		if strings.HasPrefix(asked[len(asked)-1], "second") {
			if err := s.Send(requests.SendRequest{MessageID: "msg_1", Text: "forbidden too", By: "alice"}); err != nil {
				t.Error(err)
			}
		}
		say("answer")(ctx, req, yield)
	}}
	e := newEnv(t, m, func(o *session.Options) { o.Hooks = r })
	s = e.open(session.Spec{System: "be good", MaxSteps: 9})
	if out := s.Prompt(t.Context(), "first"); out.Status != record.Completed || len(asked) != 2 {
		t.Fatalf("%+v after %q", out, asked)
	}
	for i, want := range [][]string{{"first", "the house rules", "noted"}, {"You are not done yet.", "look again"}} {
		for _, w := range want {
			if !strings.Contains(asked[i], w) {
				t.Errorf("request %d lacks %q: %s", i, w, asked[i])
			}
		}
	}
	if out := s.Prompt(t.Context(), "forbidden"); out.Err == nil || !strings.Contains(out.Err.Error(), "never") || len(asked) != 2 {
		t.Errorf("a denied prompt: %+v after %q", out, asked)
	}
	out := s.Prompt(t.Context(), "second")
	if all := strings.Join(asked, "|"); strings.Contains(all, "forbidden") || strings.Count(all, "house rules") != 1 || !strings.Contains(all, "withholds it") {
		t.Errorf("the model read %s", all)
	}
	e.end(s, out)
	if text, err := os.ReadFile(seen); err != nil || string(text) != "reason\":\"completed\n" {
		t.Errorf("at the end hooks saw %q, %v", text, err)
	}
}

// TestCompactHook: a hook keeps a conversation from being compacted, which people are told once.
func TestCompactHook(t *testing.T) {
	r, _ := hooksOf(t, `{"PreCompact": [{"matcher": "auto", "hooks": [{"type": "command", "command": "echo keep it >&2; exit 2"}]}]}`)
	w := &walker{steps: 30, counts: true}
	e := newEnv(t, w, func(o *session.Options) { o.Hooks, o.Window = r, func(string) int64 { return window } })
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
	s := e.open(session.Spec{System: "be good", MaxSteps: 1000, Tools: []tool.Tool{look(900)}, Compaction: &session.Helper{System: "summarise"}})
	out := s.Prompt(t.Context(), "the task")
	e.end(s, out)
	warned := 0
	for _, ev := range e.events(s) {
		if w, ok := ev.(event.Warning); ok && strings.Contains(w.Message, "keep it") {
			warned++
		}
	}
	if out.Status != record.Completed || len(w.helped) > 0 || warned != 1 {
		t.Errorf("%+v, compacted %d times, %d warnings", out, len(w.helped), warned)
	}
}
