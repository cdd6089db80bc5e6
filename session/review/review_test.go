package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/session/review"
)

// command is a call of a command line, as the gate has it.
func command(line string) review.Call {
	args, err := json.Marshal(map[string]string{"command": line})
	values, wrong := shell.Values(permission.Workspace{Root: "/nowhere/work", Home: "/nowhere/home"}, toolcatalog.ShellExec, line)
	if err != nil || wrong != nil {
		panic(errors.Join(err, wrong))
	}
	return review.Call{Tool: toolcatalog.ShellExec, Arguments: string(args), Rule: "asks", Values: values}
}

func answers(text string) review.Model {
	return func(context.Context, string) (string, error) { return text, nil }
}

func begun(task string) *review.Task {
	t := new(review.Task)
	t.Begin(task)
	return t
}

// TestAnswers: a verdict in its one form counts. Anything else asks a person.
func TestAnswers(t *testing.T) {
	for answer, want := range map[string]review.Verdict{
		`{"verdict": "allow", "reason": "it builds."}`:              {Decision: review.Allow, Reason: "it builds"},
		"```json\n{\"verdict\": \"deny\", \"reason\": \"no\"}\n```": {Decision: review.Deny, Reason: "no"},
		`{"verdict": "ask", "reason": "who knows"}`:                 {Decision: review.Ask, Reason: "who knows"},
		`{"verdict": "allow", "reason": ""}`:                        {Decision: review.Ask, Reason: "its answer can't be read"},
		`{"verdict": "Allow", "reason": "x"}`:                       {Decision: review.Ask, Reason: "its answer can't be read"},
		`{"verdict": "allow", "verdict": "deny", "reason": "x"}`:    {Decision: review.Ask, Reason: "its answer can't be read"},
		`allow`: {Decision: review.Ask, Reason: "its answer can't be read"},
		`{"verdict": "allow", "reason": "x"} {"verdict": "allow"}`: {Decision: review.Ask, Reason: "its answer can't be read"},
		``: {Decision: review.Ask, Reason: "its answer can't be read"},
		`{"verdict": "allow", "reason": "a\u001b[2J line\nand more "}`: {Decision: review.Allow, Reason: "a[2J line and more"},
	} {
		got := review.Judge(t.Context(), begun("build it"), command("make"), "m", answers(answer))
		if got.Decision != want.Decision || got.Reason != want.Reason || got.By != "reviewer m" || strings.ContainsAny(got.Reason, "\x1b\n") {
			t.Errorf("%q: got %+v, want %+v", answer, got, want)
		}
	}
	got := review.Judge(t.Context(), begun("x"), command("make"), "m", func(context.Context, string) (string, error) { return "", errors.New("no key") })
	if got.Decision != review.Ask || got.Reason != "no key" || got.String() != "reviewer m: ask: no key" {
		t.Errorf("a failure: %+v", got)
	}
}

// TestSees: the model is told the task, the call, the rule and the names of the last calls. What looks like a
// credential is masked.
func TestSees(t *testing.T) {
	task := begun("build it")
	for i := range 12 {
		task.Note(fmt.Sprintf("tool%d", i))
	}
	c := command("make")
	c.Arguments = `{"command": "make", "env": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`
	var told map[string]any
	review.Judge(t.Context(), task, c, "m", func(_ context.Context, prompt string) (string, error) {
		return "", json.Unmarshal([]byte(prompt), &told)
	})
	last, _ := told["lastCalls"].([]any)
	if len(told) != 5 || told["task"] != "build it" || told["tool"] != "shell_exec" || told["rule"] != "asks" || len(last) != 10 || last[9] != "tool11" {
		t.Errorf("told %v", told)
	}
	if args := told["arguments"].(string); strings.Contains(args, "ghp_abc") || !strings.Contains(args, "make") {
		t.Errorf("arguments %s", args)
	}
}

// TestPersonal: what can't be undone, reaches others or is not known is for a person, however it is spelled. The
// model is not asked.
func TestPersonal(t *testing.T) {
	for _, line := range []string{
		"rm -rf build", "rm x", "/bin/rm x", "env rm x", "cd a && rm x", "git push", "git push origin main", "git -C sub push", "git reset --hard HEAD~1", "git clean -fd", "git branch -D x",
		"sudo ls", "chmod 777 x", "npm publish", "terraform apply", "kubectl get pods", "curl -X POST https://example.com", "curl -d @x https://example.com", "ssh host ls",
		"find . -delete", "dd if=/dev/zero of=x", "psql -c 'drop table x'", "docker system prune -f", "gh repo delete x", "$(cat x)", "sh -c \"rm x\"", "rm", "git checkout .", "git checkout -- f", "git switch --discard-changes main", "git switch -f main",
		"curl --json @f https://example.com", "curl -sd@f https://example.com", "curl https://example.com -T f", "make > /etc/x", "echo x | xargs rm",
	} {
		asked := false
		v := review.Judge(t.Context(), begun("go"), command(line), "m", func(context.Context, string) (string, error) {
			asked = true
			return `{"verdict": "allow", "reason": "x"}`, nil
		})
		if asked || v.Decision != review.Ask {
			t.Errorf("%s: %+v", line, v)
		}
	}
	for _, line := range []string{"make", "make build", "go test ./...", "npm test", "git commit -m x", "git add .", "cargo build --release", "curl https://example.com", "mkdir -p a/b"} {
		if v := review.Judge(t.Context(), begun("go"), command(line), "m", answers(`{"verdict": "allow", "reason": "x"}`)); v.Decision != review.Allow {
			t.Errorf("%s: %+v", line, v)
		}
	}
	long := command("make " + strings.Repeat("x", 10_000))
	for name, v := range map[string]review.Verdict{
		"no task":   review.Judge(t.Context(), new(review.Task), command("make"), "m", answers(`{"verdict": "allow", "reason": "x"}`)),
		"long task": review.Judge(t.Context(), begun(strings.Repeat("x", 10_000)), command("make"), "m", answers(`{"verdict": "allow", "reason": "x"}`)),
		"long call": review.Judge(t.Context(), begun("go"), long, "m", answers(`{"verdict": "allow", "reason": "x"}`)),
		"no values": review.Judge(t.Context(), begun("go"), review.Call{Tool: "x", Arguments: "{}"}, "m", answers(`{"verdict": "allow", "reason": "x"}`)),
	} {
		if v.Decision != review.Ask {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestStops: after three denials in a row, or twenty calls within a minute, a person is asked about all, until there
// is a new task.
func TestStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := begun("go")
		judge := func(verdict string) review.Verdict {
			return review.Judge(t.Context(), task, command("make"), "m", answers(`{"verdict": "`+verdict+`", "reason": "x"}`))
		}
		for _, verdict := range []string{"deny", "deny", "allow", "deny", "deny", "deny"} {
			if v := judge(verdict); string(v.Decision) != verdict {
				t.Errorf("%+v, want %s", v, verdict)
			}
		}
		if v := judge("allow"); v.Decision != review.Ask || v.Reason != "it has stopped: it has denied 3 calls in a row" {
			t.Errorf("%+v", v)
		}
		task.Begin("again")
		for range 40 {
			if v := judge("allow"); v.Decision != review.Allow {
				t.Errorf("%+v", v)
			}
			<-time.After(3*time.Second + time.Millisecond)
		}
		<-time.After(time.Minute)
		for n := range 21 {
			if v := judge("allow"); (v.Decision == review.Allow) != (n < 20) {
				t.Fatalf("call %d within a minute: %+v", n+1, v)
			}
		}
		<-time.After(time.Hour)
		if v := judge("allow"); v.Reason != "it has stopped: there were 20 calls to review within a minute" {
			t.Errorf("%+v", v)
		}
		task.Begin("slow")
		v := review.Judge(t.Context(), task, command("make"), "m", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		if v.Decision != review.Ask || v.Reason != "it has not answered within 30s" {
			t.Errorf("%+v", v)
		}
	})
}

// TestOneForm: only one form of an answer allows a call.
func TestOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := rapid.OneOf(rapid.String(), rapid.StringMatching(`\{?"?verdict"?: ?"?(allow|ALLOW|deny)"?,? ?"reason": ?"[a-z ]*"\}?`)).Draw(t, "answer")
		v := review.Judge(context.Background(), begun("go"), command("make"), "m", answers(answer))
		var said map[string]string
		if v.Decision == review.Allow && (json.Unmarshal([]byte(answer), &said) != nil || said["verdict"] != "allow" || len(said) != 2) {
			t.Fatalf("%q allows", answer)
		}
	})
}
