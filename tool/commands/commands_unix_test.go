//go:build unix

package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modes are the ways in which commands run.
var modes = []sandbox.Mode{sandbox.Auto, sandbox.Off}

// allowAll are rules that allow everything.
var allowAll = &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}

// place is a session in a workspace.
type place struct {
	t        *testing.T
	dir      string
	table    *commands.Table
	commands *commands.Commands
	tools    map[string]tool.Tool

	noticed  chan commands.Notice   // nil means nobody waits for them
	progress chan commands.Progress // the same

	mu     sync.Mutex
	events []string
}

func newPlace(t *testing.T, mode sandbox.Mode) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := tool.OpenWorkspace(dir, &tool.Options{Sandbox: tool.SandboxOptions{Mode: mode}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	p := &place{t: t, dir: dir, table: commands.NewTable(), tools: map[string]tool.Tool{}}
	p.commands = p.table.Open(p, 0)
	builtin := tool.Builtin(ws)
	for _, b := range append(builtin, commands.Tools(builtin, ws.Paths())...) {
		p.tools[b.Spec().Name] = b
	}
	t.Cleanup(func() { p.table.Close("a test") })
	return p
}

func (p *place) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

func (p *place) CommandStarted(c commands.Info) { p.note("%s start %s", c.ID, c.Line) }
func (p *place) CommandEnded(c commands.Info, end commands.End) {
	p.note("%s end %v", c.ID, end)
}
func (p *place) CommandProgressed(c commands.Info, now commands.Progress) {
	if p.progress != nil {
		p.progress <- now
	}
}

func (p *place) CommandMatched(c commands.Info, n commands.Notice) {
	p.note("%s notice %d: %s", c.ID, n.Number, n.Message(c))
	if p.noticed != nil {
		p.noticed <- n
	}
}

func (p *place) Judge(context.Context, string, permission.Value) error {
	return errors.New("nobody is asked")
}

func (p *place) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.events, "\n")
}

type args map[string]any

func (p *place) call(name string, a args) tool.Result {
	p.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	values, err := p.tools[name].Values(raw)
	var r tool.Result
	if err == nil {
		r, err = p.tools[name].Run(p.t.Context(), &tool.Call{ID: "call", SessionID: "ses", Args: raw, Values: values, Rules: allowAll, Background: p.commands})
	}
	if err != nil {
		return tool.Errorf("%v", err)
	}
	return r
}

// has checks that the text of a call's result has all of want.
func (p *place) has(name string, a args, want ...string) string {
	p.t.Helper()
	r := p.call(name, a)
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			p.t.Errorf("%s(%v): %q, want %q", name, a, r.Text, w)
		}
	}
	return r.Text
}

func each(t *testing.T, test func(t *testing.T, p *place)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { test(t, newPlace(t, mode)) })
	}
}

// TestCommand: a command goes on after its call, is read in parts, and stopped.
func TestCommand(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.has("shell_exec", args{"command": "echo one; until test -e go; do sleep 0.02; done; echo two; sleep 10000", "background": true}, "cmd_1 runs in the background")
		p.has("shell_output", args{"waitSeconds": 30}, "one\n", "(cmd_1 runs for ")
		p.has("shell_output", args{"id": "cmd_1"}, "(cmd_1 runs for ")
		p.has("shell_exec", args{"command": "touch go"}, "(exit status 0)")
		if text := p.has("shell_output", args{"id": "cmd_1", "until": "^tw"}, "two\n"); strings.Contains(text, "one") {
			t.Errorf("it was read before: %q", text)
		}
		p.has("shell_output", args{"id": "cmd_1", "from": 0}, "one\ntwo\n")
		p.has("shell_output", args{"id": "cmd_1", "from": -4}, "two\n")
		p.has("shell_stop", args{"id": "cmd_1"}, "cmd_1 has ended: ", "stopped by shell_stop; 8 bytes in all")
		p.has("shell_output", args{"id": "cmd_1", "from": 0, "until": "never", "waitSeconds": 600}, "one\ntwo\n", "has ended")
		p.commands.End("a test")
		if told := p.told(); !strings.HasPrefix(told, "cmd_1 start echo one") || !strings.Contains(told, "\ncmd_1 end ") {
			t.Errorf("the session was told %q", told)
		}
	})
}

// TestCommandWrong: what can't be done is said.
func TestCommandWrong(t *testing.T) {
	p := newPlace(t, sandbox.Auto)
	p.has("shell_output", args{}, "no command was started in the background")
	p.has("shell_exec", args{"command": "cat", "tty": true}, "tty is for commands with background: true")
	p.has("shell_exec", args{"command": "exit 3", "background": true}, "cmd_1")
	p.has("shell_output", args{"id": "cmd_1", "waitSeconds": 30}, "(cmd_1 has ended: exit status 3; 0 bytes in all)")
	p.has("shell_output", args{"id": "cmd_2"}, `no command "cmd_2" in the background: there are cmd_1`)
	p.has("shell_output", args{"id": "cmd_1", "from": 5}, "from is 5, and cmd_1 has written 0 bytes")
	p.has("shell_output", args{"id": "cmd_1", "until": "("}, "until: error parsing regexp")
	p.has("shell_output", args{"id": "cmd_1", "waitSeconds": 601}, "waitSeconds is 601")
	p.has("shell_stop", args{"id": "cmd_1"}, "exit status 3;")
	for range 8 {
		p.has("shell_exec", args{"command": "sleep 10000", "background": true}, "runs in the background")
	}
	p.has("shell_exec", args{"command": "true", "background": true}, "8 commands run in this session's background, and no more may (cmd_2, ")
	p.commands.End("a test")
	p.has("shell_exec", args{"command": "true", "background": true}, "the session ends")
}

// TestCommandInput: a command reads what is typed, through a pipe or from a terminal.
func TestCommandInput(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.has("shell_exec", args{"command": "read x; echo \"got $x\"; cat; echo end", "background": true}, "cmd_1")
		p.has("shell_input", args{"id": "cmd_1", "text": "one\n", "until": "got"}, "got one\n")
		p.has("shell_input", args{"id": "cmd_1", "text": "rest", "eof": true, "until": "end"}, "restend\n")
		p.has("shell_output", args{"id": "cmd_1", "until": "never", "waitSeconds": 60}, "exit status 0")
		p.has("shell_input", args{"id": "cmd_1", "text": "more"}, "cmd_1 has ended")
		p.has("shell_input", args{"text": ""}, "text is empty")

		p.has("shell_exec", args{"command": "test -t 0 && test -t 1 && read x </dev/tty && echo \"got $x\"; PS1='next> ' exec bash --norc -i", "background": true, "tty": true}, "cmd_2")
		p.has("shell_input", args{"id": "cmd_2", "text": "one\n", "until": "got one"}, "got one\n")
		p.has("shell_input", args{"id": "cmd_2", "text": "tty -s && echo $((20+3))\n", "until": "^23"}, "\n23\n")
		p.has("shell_input", args{"id": "cmd_2", "text": "sh -c \"echo sleep''s; exec sleep 10000\"\n", "until": "^sleeps"}, "sleeps") // it has the terminal
		p.has("shell_input", args{"id": "cmd_2", "text": "\x03", "until": "next> "}, "^C", "next> ")
		p.has("shell_input", args{"id": "cmd_2", "text": "exit 4\n", "until": "never", "waitSeconds": 60}, "exit status 4")

		p.has("shell_exec", args{"command": "exec bash --norc -i", "background": true, "tty": true}, "cmd_3")
		p.has("shell_stop", args{"id": "cmd_3"}, "stopped by shell_stop")
	})
}

// TestInputJudged: what is typed is decided on as a command line, whatever reads it. Where a rule
// denies some commands, it is asked about, since it may come in pieces.
func TestInputJudged(t *testing.T) {
	p := newPlace(t, sandbox.Auto)
	input := p.tools["shell_input"]
	if spec := input.Spec(); spec.Follows != "shell_exec" || !spec.Judged {
		t.Errorf("its rules: %+v", spec)
	}
	for _, c := range []struct{ rules, text, want string }{
		{`{"shell_exec": "allow"}`, "git push\n", "allow"},
		{`{"shell_exec": "allow"}`, "\n", "allow"},
		{`{"shell_exec": "ask"}`, "y\n", "ask"},
		{`{"shell_exec": "ask"}`, "\n", "ask"},
		{`{"shell_exec": {"*": "ask", "make *": "allow"}}`, "make x\n", "allow"},
		{`{"shell_exec": {"*": "allow", "git push*": "deny"}}`, "git push\n", "deny"},
		{`{"shell_exec": {"*": "allow", "git push*": "deny"}}`, "cd x && git  push\n", "deny"},
		{`{"shell_exec": {"*": "allow", "git push*": "deny"}}`, "git pu", "ask"},
		{`{"shell_exec": {"*": "allow", "git push*": "deny"}}`, "\x1b[A\n", "ask"},
		{`{"shell_exec": "allow"}`, "echo 'a\n", "ask"},
		{`{"shell_exec": "deny"}`, "y\n", "deny"},
	} {
		static, err := permission.ParseJSON([]byte(c.rules), "t", nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(args{"text": c.text})
		values, err := input.Values(raw)
		if err != nil {
			t.Fatal(err)
		}
		layers := permission.Layers{Static: static, Defaults: permission.Defaults(), Held: true}
		if got := layers.Decide(values); got.Action.String() != c.want {
			t.Errorf("%s, %q: %v, want %s (%s)", c.rules, c.text, got.Action, c.want, got.Reason())
		}
	}
}

// TestCommandLimit: a command in the background has a time limit if the call gives one.
func TestCommandLimit(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.has("shell_exec", args{"command": "sleep 10000", "background": true, "timeoutSeconds": 1}, "cmd_1")
		p.has("shell_output", args{"waitSeconds": 60, "until": "never"}, "stopped by its time limit of 1s")
	})
}

// TestCommandNotify: lines that match are told, and so is an end that the model has not asked for.
func TestCommandNotify(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.noticed = make(chan commands.Notice, 10)
		p.has("shell_exec", args{"command": "echo x; printf '\\033[32mrea'; echo 'dy <task_result> 1'; until test -e go; do sleep 0.02; done; seq -f 'ready %g' 2 40; exit 3", "background": true, "notify": "^ready"}, "You get a message")
		n := <-p.noticed
		if text := n.Message(commands.Info{ID: "cmd_1", Line: "make"}); n.Number != 1 || !strings.Contains(text, "The command cmd_1 (make) in the background has written") || !strings.Contains(text, "\n> ready &lt;task_result> 1\n") {
			t.Errorf("%+v: %s", n, text)
		}
		p.has("shell_exec", args{"command": "touch go"}, "(exit status 0)")
		n = <-p.noticed
		if n.End == nil { // the lines were early enough for a notice of their own
			if n.End != nil || len(n.Lines) == 0 {
				t.Errorf("%+v", n)
			}
			n = <-p.noticed
		}
		if n.End == nil || n.End.Status != 3 {
			t.Errorf("the last one: %+v", n)
		}

		p.has("shell_exec", args{"command": "sleep 10000", "background": true, "notify": "."}, "cmd_2")
		p.has("shell_stop", args{"id": "cmd_2"}, "stopped by shell_stop")
		if told := p.told(); strings.Contains(told, "cmd_2 notice") {
			t.Errorf("who stops a command knows of its end: %s", told)
		}
	})
	p := newPlace(t, sandbox.Auto)
	p.has("shell_exec", args{"command": "true", "background": true, "notify": "("}, "notify: error parsing regexp")
	p.has("shell_exec", args{"command": "true", "notify": "x"}, "notify is for commands with background: true")
}

// TestCommandProgress: the session hears of the last line, and that a command waits for input.
func TestCommandProgress(t *testing.T) {
	for _, tty := range []bool{false, true} {
		each(t, func(t *testing.T, p *place) {
			p.progress = make(chan commands.Progress, 100)
			until := func(want commands.Progress) {
				t.Helper()
				limit := time.After(time.Minute)
				for {
					select {
					case got := <-p.progress:
						if got.Line == want.Line && got.Waits == want.Waits {
							return
						}
					case <-limit:
						t.Fatalf("nothing is told of %+v", want)
					}
				}
			}
			p.has("shell_exec", args{"command": "printf 'one\\n\\033[1mGo on? [y/N] \\033[0m'; read x; sleep 4; echo; echo two; sleep 10000", "background": true, "tty": tty}, "cmd_1")
			until(commands.Progress{Line: "Go on? [y/N]"})
			until(commands.Progress{Line: "Go on? [y/N]", Waits: true})
			p.has("shell_input", args{"id": "cmd_1", "text": "y\n"})
			got := <-p.progress
			if got.Waits {
				t.Errorf("it was answered: %+v", got)
			}
			until(commands.Progress{Line: "two"})
			p.commands.End("a test")
		})
	}
}

// TestCommandMoves: a call waits for the end of its command, which goes on if that takes longer.
func TestCommandMoves(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		r := p.call("shell_exec", args{"command": "echo one; exit 3", "background": true, "waitSeconds": 60})
		if !r.IsError || !strings.HasPrefix(r.Text, "one\n(cmd_1 has ended: exit status 3; 4 bytes in all)") {
			t.Errorf("%+v", r)
		}
		p.has("shell_exec", args{"command": "echo one; sleep 10000", "background": true, "waitSeconds": 1}, "one\n(cmd_2 runs for 1s", "cmd_2 runs in the background: shell_output reads")
		p.has("shell_output", args{"id": "cmd_2"}, "(cmd_2 runs for")
		p.has("shell_exec", args{"command": "echo ready; exit 3", "background": true, "waitSeconds": 60, "notify": "ready"}, "(cmd_3 has ended: exit status 3")
		p.noticed = make(chan commands.Notice, 10)
		p.has("shell_exec", args{"command": "echo ready; until test -e go; do sleep 0.02; done", "background": true, "waitSeconds": 1, "notify": "ready"}, "cmd_4 runs in the background", "You get a message")
		<-p.noticed
		p.has("shell_exec", args{"command": "touch go"}, "(exit status 0)")
		if n := <-p.noticed; n.End == nil {
			t.Errorf("its end is not told: %+v", n)
		}
		p.commands.End("a test")
		if told := p.told(); strings.Contains(told, "cmd_3 notice") {
			t.Errorf("the call has shown its end: %s", told)
		}
	})
	p := newPlace(t, sandbox.Auto)
	p.has("shell_exec", args{"command": "true", "waitSeconds": 5}, "waitSeconds is for commands with background: true")
	p.has("shell_exec", args{"command": "true", "background": true, "waitSeconds": 601}, "waitSeconds is 601, allowed are 0 to 600")
}

// TestCommandServes: the next call reaches the port of a server that a call has started.
func TestCommandServes(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatalf("the test needs python3: %v", err)
	}
	each(t, func(t *testing.T, p *place) {
		p.has("shell_exec", args{"command": "echo hello >page.txt; exec python3 -u -m http.server --bind 127.0.0.1 0", "background": true}, "cmd_1")
		text := p.has("shell_output", args{"until": "port [1-9]", "waitSeconds": 60}, "Serving HTTP on 127.0.0.1 port ")
		_, port, _ := strings.Cut(text, "port ")
		port, _, _ = strings.Cut(port, " ")
		p.has("shell_exec", args{"command": "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:" + port + "/page.txt\").read())'"}, "hello")
		p.has("shell_stop", args{"id": "cmd_1"}, "stopped by shell_stop")
	})
}

// TestCommandMuch: of much output the beginning and the end are shown, with the offset of what is
// left out.
func TestCommandMuch(t *testing.T) {
	p := newPlace(t, sandbox.Auto)
	p.has("shell_exec", args{"command": "echo first; seq 1000000; echo last", "background": true}, "cmd_1")
	r := p.call("shell_output", args{"until": "^last$", "waitSeconds": 60})
	if !r.Truncated || !strings.HasPrefix(r.Text, "first\n1\n2\n") || !strings.Contains(r.Text, "left out: from 25600 on …]") || !strings.Contains(r.Text, "\n1000000\nlast\n(") {
		t.Errorf("%.200q … %q", r.Text, r.Text[max(0, len(r.Text)-200):])
	}
	p.has("shell_output", args{"from": 25600}, "left out: from 51200 on …]")
}

// TestCommandEnds: nothing is left of a command when its session ends, or its worker, be it deaf and
// apart.
func TestCommandEnds(t *testing.T) {
	for name, end := range map[string]func(p *place){
		"session": func(p *place) { p.commands.End("a test") },
		"worker":  func(p *place) { p.table.Close("a test") },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, p *place) {
				witness := filepath.Join(p.dir, "witness") // open as long as something of the command runs
				if err := syscall.Mkfifo(witness, 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := os.OpenFile(witness, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				p.has("shell_exec", args{"command": "exec 3>witness; (setsid sh -c 'trap \"\" HUP INT TERM; echo $$ >deaf; sleep 10000; sleep 10000' &); trap '' TERM; until test -s deaf; do sleep 0.01; done; echo there; sleep 10000; sleep 10000", "background": true}, "cmd_1")
				p.has("shell_output", args{"until": "there", "waitSeconds": 60}, "there")
				end(p)
				_ = r.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.ReadAll(r); err != nil {
					t.Errorf("something of it runs: %v", err)
				}
				if told := p.told(); !strings.Contains(told, "cmd_1 end ") {
					t.Errorf("after its end, the session was told %q", told)
				}
			})
		})
	}
}
