//go:build unix

package tool_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// modes are the ways in which commands run: in what this system has for a
// sandbox, and without.
var modes = []sandbox.Mode{sandbox.Auto, sandbox.Off}

func TestShell(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { testShell(t, mode) })
	}
}

func testShell(t *testing.T, mode sandbox.Mode) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "KEPT=yes", "PWD=/wrong",
		"ANTHROPIC_API_KEY=secret", "OPENAI_API_KEY=secret", "anthropic_auth_token=secret", "WORKER_NATS=secret",
		"GITHUB_TOKEN=secret", "CLIENT_SECRET=secret", "DJANGO_SECRET_KEY=secret", "AWS_SECRET_ACCESS_KEY=secret", "DB_PASSWORD=secret",
		"db_passwd=secret", "DEPLOY_KEY=secret", "WORKER_KEPT_TOKEN=secret", "SSH_AUTH_SOCK=/sock", "KEYBOARD=us", "KEPT_TOKEN=token",
	}
	p := newPlace(t, &tool.Options{Env: env, KeepEnv: []string{"KEPT_TOKEN", "WORKER_KEPT_TOKEN"}, MaxOutputBytes: 200, Sandbox: tool.SandboxOptions{Mode: mode}}, map[string]string{"a.txt": "text\n"})
	for _, c := range []struct {
		name    string
		command string
		want    string
		isError bool
	}{
		{"stdout", "cat a.txt", "text\n(exit status 0)", false},
		{"stderr, in its place", "echo a; echo b >&2; echo c", "a\nb\nc\n(exit status 0)", false},
		{"no line end", "printf a", "a\n(exit status 0)", false},
		{"no output", "true", "(exit status 0)", false},
		{"status", "echo a; exit 3", "a\n(exit status 3)", true},
		{"a signal", "kill -KILL $$", "(ended by signal: killed)", true},
		{"the folder", "pwd; echo $PWD", p.dir + "\n" + p.dir + "\n(exit status 0)", false},
		{"stdin is empty", "cat", "(exit status 0)", false},
		{"no terminal", "exec 2>/dev/null; : </dev/tty || echo none", "none\n(exit status 0)", false},
		{"environment", "env | grep -c secret; echo $KEPT $SSH_AUTH_SOCK $KEYBOARD $KEPT_TOKEN", "0\nyes us token\n(exit status 0)", false},
		{"begins with a dash", "-x", "", true},
		{"not UTF-8", `printf 'caf\351'`, "caf\uFFFD\n(bytes that are not UTF-8 are shown as \uFFFD)\n(exit status 0)", false},
		{"long output", "for i in 1 2 3 4 5 6 7 8 9; do echo $i 56789 123456789 123456789; done",
			"1 56789 123456789 123456789\n2 56789 123456789 123456789\n3 56789 123456789 123456789" +
				"\n[… 85 bytes left out: to see them, write the output to a file and read that in parts …]\n" +
				"7 56789 123456789 123456789\n8 56789 123456789 123456789\n9 56789 123456789 123456789\n(exit status 0)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := p.call("shell_exec", args{"command": c.command})
			if r.IsError != c.isError || c.want != "" && r.Text != c.want {
				t.Errorf("shell_exec(%q): error=%v\ngot:\n%s\nwant error=%v:\n%s", c.command, r.IsError, r.Text, c.isError, c.want)
			}
		})
	}
	r := p.call("shell_exec", args{"command": "printf x; for i in {1..300}; do printf é; done"})
	want := "x" + strings.Repeat("é", 49) + "\n[… 402 bytes left out: to see them, write the output to a file and read that in parts …]\n" + strings.Repeat("é", 50) + "\n(exit status 0)"
	if r.Text != want || !r.Truncated {
		t.Errorf("one long line: truncated=%v\ngot:\n%s\nwant:\n%s", r.Truncated, r.Text, want)
	}
	r = p.call("shell_exec", args{"command": "exit 3"})
	if r.Meta["exitStatus"] != 3 {
		t.Errorf("meta of exit 3: %v", r.Meta)
	}
	p.fails("shell_exec", args{"command": ""}, "command is empty")
	p.fails("shell_exec", args{"command": "a\x00b"}, "NUL")
	p.fails("shell_exec", args{"command": "true", "timeoutSeconds": -1}, "allowed are 1 to 3600")
	p.fails("shell_exec", args{"command": "true", "timeoutSeconds": 3601}, "allowed are 1 to 3600")
}

// witness is a pipe in the workspace that a command holds open: it is at its
// end when all processes of the command are gone.
type witness struct {
	t *testing.T
	r *os.File
}

func (p *place) witness(t *testing.T) *witness {
	t.Helper()
	name := filepath.Join(p.dir, "witness")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &witness{t, r}
}

// gone waits until no process holds the pipe, and returns what they wrote.
func (w *witness) gone() string {
	w.t.Helper()
	b, err := io.ReadAll(w.r)
	if err != nil {
		w.t.Fatalf("processes are left: %v", err)
	}
	return string(b)
}

// Commands that would run for ever, each with children that hold the output.
var endless = map[string]string{
	"plain":            `sleep 10000`,
	"children":         `sleep 10000 & sleep 10000 | cat`,
	"deaf to SIGTERM":  `trap '' TERM; echo started >&3; sleep 10000; sleep 10000`,
	"deaf grandchild":  `(trap '' TERM; (sleep 10000; true) & sleep 10000; true) & wait`,
	"stopped children": `sleep 10000 & kill -STOP $!; wait`,
	"full pipe":        `yes`,
}

func TestShellTimeLimit(t *testing.T) {
	for _, mode := range modes {
		for name, command := range endless {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, &tool.Options{ShellTimeout: 100 * time.Millisecond, KillGrace: 100 * time.Millisecond, Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
				w := p.witness(t)
				r := p.call("shell_exec", args{"command": "exec 3>witness; echo out; " + command})
				if !r.IsError || !strings.HasSuffix(r.Text, "(stopped after 100ms, the time limit; timeoutSeconds sets another, up to 3600, and with background: true a command goes on while you do other work)") {
					t.Errorf("%s: %+v, want it stopped by the time limit", command, r)
				}
				w.gone()
			})
		}
	}
}

func TestShellCancel(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { testShellCancel(t, mode) })
	}
}

func testShellCancel(t *testing.T, mode sandbox.Mode) {
	p := newPlace(t, &tool.Options{KillGrace: 50 * time.Millisecond, Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
	w := p.witness(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan tool.Result)
	go func() {
		done <- p.callWith(ctx, "shell_exec", args{"command": "exec 3>witness; echo out; trap '' TERM; sleep 10000 & echo started >&3; wait; sleep 10000"}, nil)
	}()
	if line, err := readLine(w.r); line != "started" {
		t.Fatalf("the command wrote %q (%v)", line, err)
	}
	cancel(errors.New("the user has gone"))
	r := <-done
	if !r.IsError || !strings.HasPrefix(r.Text, "out\n(stopped after ") || !strings.HasSuffix(r.Text, ": the user has gone)") {
		t.Errorf("cancelled: %+v", r)
	}
	w.gone()
}

// readLine reads a line from a pipe that may not have a writer yet.
func readLine(r *os.File) (string, error) {
	deadline := time.Now().Add(time.Minute)
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadString('\n')
		if err == nil || !errors.Is(err, io.EOF) || time.Now().After(deadline) {
			return strings.TrimSuffix(line, "\n"), err
		}
	}
}

// What a command leaves in the background ends with it, and is not waited for.
func TestShellBackground(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { testShellBackground(t, mode) })
	}
}

func testShellBackground(t *testing.T, mode sandbox.Mode) {
	p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
	w := p.witness(t)
	r := p.call("shell_exec", args{"command": "exec 3>witness; (trap '' TERM HUP; echo started >&3; sleep 10000; true) & nohup sleep 10000 & echo out"})
	if r.IsError || !strings.HasSuffix(r.Text, "out\n(exit status 0)") {
		t.Errorf("background: %+v", r)
	}
	w.gone()
}

func TestShellMissing(t *testing.T) {
	for _, mode := range modes {
		p := newPlace(t, &tool.Options{Shell: "/nowhere/sh", Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
		p.fails("shell_exec", args{"command": "true"}, "no such file or directory")
	}
}

// TestNothingAsks: commands that open an editor or a pager for a person go on without one, and
// the model reads what a terminal would show in the end.
func TestNothingAsks(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "EDITOR=vim", "PAGER=less", "GIT_PAGER=less -R", "TERM=xterm-256color",
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
			p := newPlace(t, &tool.Options{Env: env, Sandbox: tool.SandboxOptions{Mode: mode}}, map[string]string{"a.txt": "text\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/refs/.keep": "", ".git/objects/.keep": ""})
			for _, c := range []struct{ command, want string }{
				{"git add a.txt && git commit; git commit -q -m one", "Aborting commit due to empty commit message."},
				{"echo more >>a.txt; git commit -q -am two; git commit --amend && git log --oneline", "two\n"},
				{"git rebase -q -i --root && git log --format=%s", "two\none\n"},
				{"git checkout -q -b side HEAD~1; echo b >b.txt; git add b.txt; git commit -qm side; git merge --no-ff main && git log -1 --format=%s", "Merge branch 'main' into side\n"},
				{"git tag -a v1 || echo no message", "no message\n"},
				{"git -c color.ui=always diff main~1 main --stat", "\n 1 file changed"},
				{"git -c color.ui=always log -1 --format='%C(red)x%C(reset)'", "x\n(exit"},
				{`printf '\033[31mred\033[0m\n10%%\r100%%\nX\bY\n'`, "red\n100%\nY\n(exit status 0)"},
				{"$EDITOR a.txt; $VISUAL a.txt; $PAGER a.txt", "text\nmore\n(exit status 0)"},
				{`test -t 0 || echo "$TERM $NO_COLOR $CI"`, "dumb 1 true\n"},
			} {
				if res := p.call("shell_exec", args{"command": c.command, "timeoutSeconds": 20}); !strings.Contains(res.Text, c.want) {
					t.Errorf("%s: %q, want %q", c.command, res.Text, c.want)
				}
			}
		})
	}
}
