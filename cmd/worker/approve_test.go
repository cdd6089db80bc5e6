package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
)

// typist is a user at a terminal: it types its next line once it is asked.
type typist struct {
	screen bytes.Buffer
	asked  chan struct{}
	lines  []string
}

func (t *typist) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte("no > ")) {
		t.asked <- struct{}{}
	}
	return t.screen.Write(p)
}

func (t *typist) Read(p []byte) (int, error) {
	<-t.asked
	if len(t.lines) == 0 {
		return 0, io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	return copy(p, line+"\n"), nil
}

// TestApproveOnTerminal answers the questions of a run as a user at a terminal
// would: a word that is no answer, yes, always, and no with a reason.
func TestApproveOnTerminal(t *testing.T) {
	defer goleak.VerifyNone(t) // the whole program ran in this process, and left nothing
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	play := filepath.Join(dir, "script.jsonl")
	err := os.WriteFile(play, []byte(`
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo one"}}]}
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo two"}}]}
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo three"}}]}
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "rm -rf x"}}]}
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "rm -rf y"}}]}
{"text": "finished"}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	user := &typist{asked: make(chan struct{}, 16), lines: []string{"what?", "y", "always", "n not on\tmy watch"}}
	p := newProgram(&stdout, user, "HOME="+dir, "PATH="+os.Getenv("PATH"))
	p.Stdin, p.StdinTTY, p.ErrTerm = user, true, terminal.Output{Columns: func() int { return 80 }}
	status := p.run(context.Background(), []string{"task", "general", "go", "--dir", dir, "--state-dir", state, "--model", "replay/" + play})
	if want := "<task_result agent=\"general\">\nfinished\n</task_result>\n"; status != 0 || stdout.String() != want {
		t.Fatalf("status %d\n%s\n%s", status, stdout.String(), user.screen.String())
	}
	screen := user.screen.String()
	for _, want := range []string{
		"general asks to run a command (shell_exec)\n    echo one\n",
		`    {"shell_exec":{"echo *":"allow"}}` + "\n",
		"shell_exec echo three  ok",
		"The user denied shell_exec: not on\tmy watch",
		"shell_exec rm -rf y  failed: shell_exec was not approved: the terminal was closed",
	} {
		if !strings.Contains(screen, strings.ReplaceAll(want, "\t", " ")) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if n := strings.Count(screen, "asks to run a command"); n != 4 {
		t.Errorf("%d questions, want 4: the third echo has been allowed for good", n)
	}
	rules, err := os.ReadFile(filepath.Join(state, "permissions.jsonc"))
	if err != nil || !strings.Contains(string(rules), `"echo *": "allow"`) || !strings.Contains(string(rules), "// What you decide") {
		t.Errorf("permissions.jsonc: %v\n%s", err, rules)
	}
}
