package hooks_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/toolcatalog"
)

func runner(t *testing.T, file, text string, change func(*hooks.Options)) (*hooks.Runner, string) {
	t.Helper()
	root := t.TempDir()
	at := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	opts := hooks.Options{Root: root, Files: hookconfig.Files(root, "", nil), Always: true, Shell: "/bin/sh", Env: os.Environ()}
	if change != nil {
		change(&opts)
	}
	r, err := hooks.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, root
}

// claude is a settings.json with one PreToolUse hook for Bash.
func claude(command, more string) string {
	quoted, _ := json.Marshal(command)
	return `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": ` + string(quoted) + more + `}]}]}}`
}

func bash(command string) hooks.Call {
	args, _ := json.Marshal(map[string]string{"command": command})
	return hooks.Call{Event: hookconfig.PreToolUse, Tool: toolcatalog.ShellExec, ID: "c", Input: args}
}

// TestAnswers: what a hook prints and how it exits decide as Claude Code documents it, and a hook
// that gives no answer closes the call.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, command, more, want, reason string }{
		{"silent", `true`, "", "none", ""},
		{"text", `echo checked`, "", "none", ""},
		{"exit 2", `echo "use rg" >&2; exit 2`, "", "deny", "use rg"},
		{"jq form", `grep -q '"command":"rm' && { echo no rm >&2; exit 2; }; exit 0`, "", "deny", "no rm"},
		{"deny", `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why"}}'`, "", "deny", "why"},
		{"ask", `echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`, "", "ask", ""},
		{"allow", `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`, "", "allow", ""},
		{"older approve", `echo '{"decision":"approve"}'`, "", "allow", ""},
		{"older block", `echo '{"decision":"block","reason":"r"}'`, "", "deny", "r"},
		{"stop", `echo '{"continue":false,"stopReason":"halt"}'`, "", "deny", "halt"},
		{"exit 1", `echo oops >&2; exit 1`, "", "deny", "exit status 1: oops"},
		{"exit 1 goes on", `exit 1`, `, "onFailure": "continue"`, "none", ""},
		{"missing", `./gone.sh`, "", "deny", "127"},
		{"rubbish", `echo '{"decision":'`, "", "deny", "not valid JSON"},
		{"unknown word", `echo '{"decision":"perhaps"}'`, "", "deny", "perhaps"},
		{"flood", `head -c 3000000 /dev/zero`, "", "deny", "more than"},
		{"hangs", `sleep 600`, `, "timeout": 0.2`, "deny", "not answered within"},
		{"forks", `(sleep 600 &) ; exit 0`, "", "none", ""},
		{"kills itself", `kill -9 $$`, "", "deny", "killed"},
		{"prompt", `x`, `, "type": "prompt"`, "deny", "do not run here"},
		{"project dir", `test -n "$CLAUDE_PROJECT_DIR" && test "$PWD" = "$CLAUDE_PROJECT_DIR"`, "", "none", ""},
		{"no keys", `test -z "$MY_API_KEY"`, "", "none", ""},
		{"if of another tool", `exit 2`, `, "if": "Edit(*)"`, "none", ""},
		{"if of another command", `exit 2`, `, "if": "Bash(git *)"`, "none", ""},
		{"if of the command", `exit 2`, `, "if": "Bash(rm *)"`, "deny", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := runner(t, ".claude/settings.json", claude(c.command, c.more), func(o *hooks.Options) { o.Env = append(o.Env, "MY_API_KEY=x") })
			began := time.Now()
			out := r.Run(t.Context(), bash("rm -r x"))
			got, text := "none", ""
			switch {
			case out.Deny != nil:
				got, text = "deny", out.Deny.Text
			case out.Ask != nil:
				got = "ask"
			case out.Allow != nil:
				got = "allow"
			}
			if got != c.want || !strings.Contains(text, c.reason) {
				t.Errorf("%s %q, want %s %q", got, text, c.want, c.reason)
			}
			if time.Since(began) > 20*time.Second {
				t.Error("it was waited for")
			}
		})
	}
}

// TestUpdated: what one hook changes, all of them judge again; paths and names are in the form of
// the hook's authors.
func TestUpdated(t *testing.T) {
	text := `{"hooks": {"PreToolUse": [
		{"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "grep -q '\"file_path\":\"/' && echo '{\"hookSpecificOutput\":{\"updatedInput\":{\"file_path\":\"secret\",\"old_string\":\"a\",\"new_string\":\"b\"}}}'"}]},
		{"hooks": [{"type": "command", "command": "grep -q secret && exit 2; exit 0"}]}]}}`
	r, root := runner(t, ".claude/settings.json", text, nil)
	c := hooks.Call{Event: hookconfig.PreToolUse, Tool: toolcatalog.EditFile, Cwd: root, Input: []byte(`{"path":"x","oldText":"1","newText":"2"}`)}
	out := r.Run(t.Context(), c)
	if out.Deny == nil || !strings.Contains(string(out.Updated), `"oldText":"a"`) || !strings.Contains(string(out.Updated), `"path":"secret"`) {
		t.Errorf("%+v %s", out, out.Updated)
	}
}

// TestForms: Copilot's files and Codex's have the payload and the answers that they document.
func TestForms(t *testing.T) {
	for file, text := range map[string]string{
		".github/hooks/guard.json": `{"version":1,"hooks":{"preToolUse":[{"type":"command","bash":"grep -q '\"toolName\":\"bash\"' && echo '{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}'","timeoutSec":30}]}}`,
		".codex/hooks.json":        `{"hooks":{"PreToolUse":[{"matcher":"^Ba","hooks":[{"type":"command","command":"grep -q '\"tool_name\":\"Bash\"' && exit 2"}]}]}}`,
		".codex/config.toml":       "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"exit 2\"\n",
	} {
		r, _ := runner(t, file, text, nil)
		if out := r.Run(t.Context(), bash("ls")); out.Deny == nil || !strings.HasPrefix(out.Deny.Hook.Source(), file+":") {
			t.Errorf("%s: %+v", file, out)
		}
	}
}

// TestTrust: a hook of the repository runs once a person trusts it, and closes what it guards when its
// script changes.
func TestTrust(t *testing.T) {
	trust := hooks.OpenTrust(filepath.Join(t.TempDir(), "trusted.json"))
	r, root := runner(t, ".claude/settings.json", claude(`"$CLAUDE_PROJECT_DIR"/guard.sh`, ""), func(o *hooks.Options) { o.Always, o.Trust = false, trust })
	script := filepath.Join(root, "guard.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("echo no >&2; exit 2\n")
	if out := r.Run(t.Context(), bash("ls")); out.Deny != nil || !strings.Contains(r.Untrusted(), ".claude/settings.json:1") {
		t.Errorf("it has run: %+v, %q", out, r.Untrusted())
	}
	if err := trust.Add(r.All(), root); err != nil {
		t.Fatal(err)
	}
	if out := r.Run(t.Context(), bash("ls")); out.Deny == nil || out.Deny.Text != "no" || r.Untrusted() != "" {
		t.Errorf("it has not run: %+v", out.Deny)
	}
	write("exit 0\n")
	if out := r.Run(t.Context(), bash("ls")); out.Deny == nil || !strings.Contains(out.Deny.Text, "changed") {
		t.Errorf("a changed script: %+v", out.Deny)
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	if out := r.Run(t.Context(), bash("ls")); out.Deny == nil {
		t.Error("a script that has removed itself guards nothing any more")
	}
	broken := filepath.Join(root, ".claude", "settings.json")
	if err := os.WriteFile(broken, []byte(`{"hooks": 3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	later, err := hooks.New(hooks.Options{Root: root, Files: hookconfig.Files(root, "", nil), Trust: trust, Shell: "/bin/sh", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(later.Close)
	if out := later.Run(t.Context(), bash("ls")); out.Deny == nil || !strings.Contains(out.Deny.Text, "can't be read") {
		t.Errorf("trusted hooks in a file that is broken: %+v", out.Deny)
	}
	if n, err := trust.Forget(r.All()); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
}

// BenchmarkRun is the overhead of two commands that do nothing, and of no hooks.
func BenchmarkRun(b *testing.B) {
	for name, own := range map[string][]*hookconfig.Hook{"none": nil, "two": {{Event: hookconfig.PreToolUse, Type: hookconfig.Command, Command: "true"}, {Event: hookconfig.PreToolUse, Type: hookconfig.Command, Command: "true"}}} {
		b.Run(name, func(b *testing.B) {
			r, err := hooks.New(hooks.Options{Root: b.TempDir(), Own: own, Shell: "/bin/sh", Env: os.Environ()})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for b.Loop() {
				r.Run(context.Background(), bash("ls"))
			}
		})
	}
}

// TestGone: hooks of a file that disappears stay in force until the worker is started again.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, root := runner(t, ".claude/settings.json", claude(`exit 2`, ""), nil)
		if err := os.RemoveAll(filepath.Join(root, ".claude")); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute) // the files are looked at again
		if all := r.All(); len(all) != 1 {
			t.Errorf("%d hooks, want 1, of the file that has disappeared", len(all))
		}
		<-time.After(time.Minute)
		if c := bash("echo"); !r.Has(&c) {
			t.Error("the hook is forgotten at the second look")
		}
	})
}
