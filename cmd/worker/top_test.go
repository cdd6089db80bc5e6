//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTop: a user watches a run in another process: answers its question, sends a line,
// reads a log, moves a subagent to the background. When that process is killed, which had
// the store, the user stops the rest.
func TestTop(t *testing.T) {
	t.Parallel()
	dir := workspaceFor(t, `
{"match": {"system": "You are the agent \"primary\""}, "toolCalls": [{"name": "task", "arguments": {"description": "wait", "prompt": "hang please", "agentType": "explore"}}, {"name": "task", "arguments": {"description": "make it", "prompt": "ask please", "agentType": "general"}}]}
{"match": {"result": "moved it to the background"}, "text": "I wait."}
{"match": {"user": "hang please"}, "text": "\u001b[2Jthinking", "hang": true}
{"match": {"user": "ask please"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch made"}}]}
{"match": {"user": "ask please"}, "text": "I have made it."}
`)
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(path, "run", "do it", "--model", "replay/script.jsonl", "--approval-timeout", "1h", "--model-timeout", "30m")
	run.Dir, run.Env = dir, environOf(dir)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if run.ProcessState == nil { // a test that failed half way
			_ = run.Process.Kill()
			_ = run.Wait()
		}
	}()

	s := onScreen(t, dir, 100, 24, "top")
	s.sees(`!. general  make it +approval .*run touch`)
	s.types("n")
	s.sees(`>!. general`)
	s.types("v")
	s.sees(`asks to run a command(?s:.*)touch made(?s:.*)approve\? y this time`)
	s.types("y")
	s.sees(`approved: run touch made`)
	s.sees(`general  make it +completed`)
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	s.resize(50, 15)
	s.sees(`AGENT +STATUS +DOING *\n`)
	s.types("gj") // the root, and below it first what runs
	s.sees(`> . explore`)
	s.types("s" + "hurry" + keyEnter)
	s.sees(`sent: its model reads it`)
	s.types(keyEnter)
	s.sees(`--- user *\n *hang please(?s:.*)esc back`)
	s.types(keyEsc)
	s.sees(`> . explore`)
	s.types("b")
	s.sees(`it runs in the background`)

	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	s.sees(`>!. explore .*lost`)
	s.types("g" + "x")
	s.sees(`stop primary ses_`)
	s.types("y")
	s.sees(`> primary .*cancelled`)
	s.types("e")
	s.sees(`none runs: e shows those that have ended`)
	s.types("q")
	if raw := s.ended(0); regexp.MustCompile(`\x1b\[3[0-7]m`).MatchString(raw) {
		t.Error("there are colours, although NO_COLOR is set")
	}
}

// TestWaitsForTop: a task without a terminal waits where somebody watches, and says where. In
// a pipeline, and once nobody watches, its calls are refused at once.
func TestWaitsForTop(t *testing.T) {
	t.Parallel()
	dir := workspaceFor(t, `
{"match": {"user": "ask please"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch made"}}]}
{"match": {"user": "ask please"}, "text": "That is all."}
`)
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	task := func(args ...string) (string, error) {
		cmd := exec.Command(path, append([]string{"task", "general", "ask please", "--model", "replay/script.jsonl"}, args...)...)
		cmd.Dir, cmd.Env = dir, environOf(dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	refused := func(out string) {
		t.Helper()
		if !strings.Contains(out, "Nobody can answer here, so the call is refused") {
			t.Errorf("what should be refused at once:\n%s", out)
		}
	}
	s := onScreen(t, dir, 100, 24, "top")
	s.sees(`no sessions yet`)
	out, _ := task("--ci")
	refused(out)
	type result struct{ out string }
	done := make(chan result, 1)
	go func() {
		out, _ := task()
		done <- result{out}
	}()
	s.sees(`!. general .*approval .*run touch`)
	s.types("n" + "v")
	s.sees(`approve\? y this time`)
	s.types("y")
	if got := <-done; !strings.Contains(got.out, "waits for an answer at worker top, or 'worker approvals approve apr_") {
		t.Errorf("it does not say where it waits:\n%s", got.out)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	s.types("q")
	s.ended(0)
	out, _ = task()
	refused(out)
}

// TestTopCommand: top shows a command in the background that ran before it, and stops it.
func TestTopCommand(t *testing.T) {
	t.Parallel()
	dir := workspaceFor(t, `
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "printf 'Go on? '; touch begun; read x", "background": true}}]}
{"toolCalls": [{"name": "shell_output", "arguments": {"until": "never", "waitSeconds": 600}}]}
{"text": "It was stopped."}
`)
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(path, "task", "general", "do it", "--yes", "--model", "replay/script.jsonl")
	run.Dir, run.Env = dir, environOf(dir)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run.Wait() // the screen says how it has ended
	}()
	defer func() {
		_ = run.Process.Kill() // it may have ended
		<-ended
	}()
	begun := exec.CommandContext(t.Context(), "sh", "-c", "until test -e begun; do sleep 0.05; done")
	begun.Dir = dir
	if err := begun.Run(); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, dir, 100, 24, "top")
	s.sees(`!. general .*input`)
	s.types("n")
	s.sees(`cmd_1 waits for input: Go on\?`)
	s.types("c")
	s.sees(`stop cmd_1 of general ses_\w+\? y/n`)
	s.types("y")
	s.sees(`general .*completed`)
}
