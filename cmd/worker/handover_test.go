//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ends returns the rest of what the process prints, once it has ended with a status.
func (p *servedProcess) ends(status int) string {
	p.t.Helper()
	var b strings.Builder
	for p.lines.Scan() {
		b.WriteString(p.lines.Text() + "\n")
	}
	_ = p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.t.Errorf("exit status %d, want %d:\n%s", got, status, b.String())
	}
	return b.String()
}

// until reads what the process prints, up to a line with a text.
func (p *servedProcess) until(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("it has ended without %q", text)
}

func (p *servedProcess) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// TestHandOver: a worker gets SIGTERM. It finishes the call with a waiting caller, and takes no
// other. It finishes the command of a subagent in the background, and leaves the subagent to the
// next worker. That does not count as a takeover, so it can be repeated. Commands that list
// sessions meanwhile do not end them.
func TestHandOver(t *testing.T) {
	t.Parallel()
	shell := func(command string) string {
		return `{"match": {"user": "Work"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "` + command + `"}}]}` + "\n"
	}
	wait := func(name string) string {
		return "touch " + name + ".began; until test -e " + name + "; do sleep 0.05; done"
	}
	model := startModel(t, shell(wait("one"))+shell(wait("two"))+shell("touch three.began")+`{"match": {"user": "Work"}, "text": "All of it is done."}`+"\n"+
		`{"match": {"user": "Answer"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "`+wait("awaited")+`"}}]}`+"\n"+`{"match": {"user": "Answer"}, "text": "Here it is."}`)
	dir := t.TempDir()
	start := func() *servedProcess {
		p := startServing(t, dir, model.URL, "--allow", "shell_exec:*", "--drain", "1m")
		p.listens()
		return p
	}
	exists := func(name string) { awaitFile(t, filepath.Join(dir, name)) }
	put := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := start()
	var accepted struct{ SessionID string }
	answer := first.post("/v1/tasks", `{"description":"d","prompt":"Work","agentType":"general","background":true}`)
	if err := json.Unmarshal([]byte(answer), &accepted); err != nil || accepted.SessionID == "" {
		t.Fatalf("%s, %v", answer, err)
	}
	exists("one.began")
	awaited := callInBackground(first, `{"description":"d","prompt":"Answer","agentType":"general"}`)
	exists("awaited.began")
	first.signal(syscall.SIGTERM)
	first.until("waiting for up to 1m")
	if got := first.post("/v1/tasks", `{"description":"d","prompt":"More","agentType":"general"}`); !strings.Contains(got, "shutting_down") {
		t.Errorf("a call while it ends: %s", got)
	}
	put("awaited")
	if got := <-awaited; !strings.Contains(got, "Here it is.") {
		t.Errorf("the call that was waited for: %s", got)
	}
	put("one")
	if said := first.ends(0); !strings.Contains(said, "1 subagent in the background: the next 'worker serve'") {
		t.Errorf("it says:\n%s", said)
	}
	if got := first.command("sessions", "list", "--all"); strings.Contains(got, "interrupted") {
		t.Errorf("a list has ended what waits for the next worker:\n%s", got)
	}

	second := start()
	exists("two.began")
	second.signal(syscall.SIGTERM)
	second.until("waiting for up to 1m")
	put("two")
	second.ends(0)
	third := start()
	if got := third.post("/v1/tasks/wait", `{"sessionId":"`+accepted.SessionID+`"}`); !strings.Contains(got, "All of it is done.") {
		t.Errorf("it does not go on: %s", got)
	}
	if shown := third.command("sessions", "show", accepted.SessionID, "--json"); !strings.Contains(shown, `"takeovers": 2`) || !strings.Contains(shown, `"handOvers": 2`) {
		t.Errorf("it was handed over twice: %s", shown)
	}
	third.signal(syscall.SIGTERM)
	third.ends(0)
}

// command returns what a command prints about the workspace.
func (p *servedProcess) command(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.cmd.Path, append(args, "--dir", filepath.Dir(p.state), "--state-dir", p.state)...)
	cmd.Env = p.cmd.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Errorf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// awaitFile returns once there is a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("there is no %s", path)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// callInBackground makes a call of a task in the background of the test.
func callInBackground(p *servedProcess, body string) chan string {
	answered := make(chan string, 1)
	go func() { answered <- p.post("/v1/tasks", body) }()
	return answered
}

// TestHandOverMCP: the worker of a host gets SIGTERM. What runs in the background goes on in the
// next worker, as after a kill: also if stdin ends meanwhile, and after a second signal.
func TestHandOverMCP(t *testing.T) {
	t.Parallel()
	const hangs = `{"match": {"user": "Work"}, "text": "It is", "hang": true}`
	const waits = `{"match": {"user": "Work"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch began; until test -e go; do sleep 0.05; done"}}]}`
	for _, tt := range []struct {
		name          string
		first, second string // what the model does in the first worker, and in the next
		drain         string
		end           func(p *hostedProcess)
	}{
		{"at once", hangs, "", "0s", func(p *hostedProcess) { p.signal(syscall.SIGTERM) }},
		{"the step ends", waits, waits, "1m", func(p *hostedProcess) {
			awaitFile(t, filepath.Join(p.dir, "began"))
			p.signal(syscall.SIGTERM)
			p.until("waiting for up to 1m")
			if err := errors.Join(p.stdin.Close(), os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600)); err != nil {
				t.Error(err)
			}
		}},
		{"two signals", hangs, "", "1h", func(p *hostedProcess) {
			p.signal(os.Interrupt)
			p.until("waiting for up to 1h")
			p.signal(syscall.SIGTERM)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const done = `{"match": {"user": "Work"}, "text": "All of it is done."}`
			model, later := startModel(t, tt.first+"\n"+done), startModel(t, tt.second+"\n"+done)
			dir := t.TempDir()
			p := startHosted(t, dir, model.URL, "--drain", tt.drain, "--allow", "shell_exec:*")
			answer := p.call("task", `{"description":"d","prompt":"Work","agentType":"general","background":true}`)
			sessionID := regexp.MustCompile(`ses_[a-z0-9]+`).FindString(answer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := model.Await(ctx, 1); err != nil || sessionID == "" {
				t.Fatalf("%v, %s", err, answer)
			}
			tt.end(p)
			if said := p.ends(0); !strings.Contains(said, "1 subagent in the background: the next 'worker serve' or 'worker mcp'") {
				t.Errorf("it says:\n%s", said)
			}

			next := startServing(t, dir, later.URL, "--allow", "shell_exec:*")
			next.listens()
			if got := next.post("/v1/tasks/wait", `{"sessionId":"`+sessionID+`"}`); !strings.Contains(got, "All of it is done.") {
				t.Errorf("it does not go on: %s", got)
			}
			shown := next.command("sessions", "show", sessionID, "--json")
			if !strings.Contains(shown, `"handOvers": 1`) {
				t.Errorf("it was not handed over: %s", shown)
			}
		})
	}
}

// hostedProcess is "worker mcp" as a process of a host.
type hostedProcess struct {
	*servedProcess
	dir     string
	stdin   io.WriteCloser
	answers *bufio.Scanner
}

// startHosted starts one in a folder, with the model of a server.
func startHosted(t *testing.T, dir, model string, args ...string) *hostedProcess {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	p := &hostedProcess{servedProcess: &servedProcess{t: t, state: filepath.Join(dir, "state")}, dir: dir}
	p.cmd = exec.Command(path, append([]string{"mcp", "--dir", dir, "--state-dir", p.state, "--model", "anthropic/claude-haiku-5-5"}, args...)...)
	p.cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + model}
	stderr, err1 := p.cmd.StderrPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	stdin, err3 := p.cmd.StdinPipe()
	if err := errors.Join(err1, err2, err3, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdin, p.answers, p.lines = stdin, bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	t.Cleanup(p.kill)
	p.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *hostedProcess) say(message string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, message+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// call makes a call of a tool, and returns the answer.
func (p *hostedProcess) call(name, arguments string) string {
	p.t.Helper()
	p.say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`)
	for p.answers.Scan() {
		if answer := p.answers.Text(); strings.Contains(answer, `"id":"call"`) {
			return answer
		}
	}
	p.t.Fatal("it has ended without an answer")
	return ""
}

// TestSecondSignal: a second signal ends a worker at once, which waits for a call.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	model := startModel(t, `{"match": {"user": "Stay"}, "text": "I", "hang": true}`)
	dir := t.TempDir()
	p := startServing(t, dir, model.URL, "--drain", "1h")
	p.listens()
	p.post("/v1/tasks", `{"description":"d","prompt":"Stay","agentType":"explore","background":true}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := model.Await(ctx, 1); err != nil {
		t.Fatal(err)
	}
	p.signal(os.Interrupt)
	p.until("waiting for up to 1h")
	p.signal(os.Interrupt)
	p.ends(128 + int(syscall.SIGINT))
}

// TestServeAddresses: the error for an address names its flag.
func TestServeAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, errs := ranIn(t, dir, "serve", "--listen", "127.0.0.1:0", "--listen-tls", "203.0.113.1:1", "--tls-cert", "none.pem", "--tls-key", "none.pem")
	if !strings.Contains(errs, "--listen-tls 203.0.113.1:1: ") {
		t.Errorf("it does not name the flag: %s", errs)
	}
}

// TestHandOverRun: a detached subagent of "worker run" completes in another worker, whether the
// command was told to end, was killed, or has ended by itself.
func TestHandOverRun(t *testing.T) {
	t.Parallel()
	const hangs = `{"match": {"user": "Main"}, "hang": true}`
	for _, tt := range []struct {
		name   string
		answer string // of the conversation
		end    os.Signal
		status int
	}{
		{"SIGTERM", hangs, syscall.SIGTERM, 130},
		{"SIGINT", hangs, os.Interrupt, 130},
		{"killed", hangs, os.Kill, -1},
		{"its answer is given", `{"match": {"user": "Main"}, "text": "Started."}`, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := startModel(t, `{"match": {"user": "Work"}, "hang": true}`+"\n"+
				`{"match": {"user": "Main"}, "toolCalls": [{"name": "task", "arguments": {"description": "d", "prompt": "Work", "agentType": "det"}}]}`+"\n"+tt.answer)
			dir := t.TempDir()
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".agents/agents"), 0o700),
				os.WriteFile(filepath.Join(dir, ".agents/agents/det.md"), []byte("---\ndescription: Works on.\ndetached: true\n---\nWork."), 0o600)); err != nil {
				t.Fatal(err)
			}
			p := startRun(t, dir, model.URL, "Main")
			sessionID := regexp.MustCompile(`ses_[a-z0-9]+`).FindString(p.line("det  started as"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := model.Await(ctx, 3); err != nil || sessionID == "" {
				t.Fatalf("%v, %q", err, sessionID)
			}
			if tt.end != nil {
				p.signal(tt.end)
			}
			if said := p.ends(tt.status); tt.end != os.Kill && !strings.Contains(said, "1 subagent in the background: the next 'worker serve'") {
				t.Errorf("it says:\n%s", said)
			}
			next := startServing(t, dir, startModel(t, `{"match": {"user": "Work"}, "text": "All of it is done."}`).URL)
			next.listens()
			if got := next.post("/v1/tasks/wait", `{"sessionId":"`+sessionID+`"}`); !strings.Contains(got, "All of it is done.") {
				t.Errorf("it does not go on: %s", got)
			}
		})
	}
}

// startRun starts "worker run" in a folder, with the model of a server.
func startRun(t *testing.T, dir, model, prompt string) *servedProcess {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	p := &servedProcess{t: t, state: filepath.Join(dir, "state")}
	p.cmd = exec.Command(path, "run", prompt, "--dir", dir, "--state-dir", p.state, "--model", "anthropic/claude-haiku-5-5")
	p.cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + model}
	stderr, err := p.cmd.StderrPipe()
	if err = errors.Join(err, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stderr)
	t.Cleanup(p.kill)
	return p
}
