package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApproveOnTerminal answers the questions of a run as a user at a terminal
// would: a word that is no answer, yes, always, and no with a reason.
func TestApproveOnTerminal(t *testing.T) {
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
	var stdout, stderr bytes.Buffer
	p := &program{
		stdin:    strings.NewReader("what?\ny\nalways\nn not on\tmy watch\n"),
		stdout:   &stdout,
		stderr:   &stderr,
		environ:  []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		stdinTTY: true,
		errTTY:   true,
	}
	status := p.run(context.Background(), []string{"task", "general", "go", "--dir", dir, "--state-dir", state, "--model", "replay/" + play})
	if want := "<task_result agent=\"general\">\nfinished\n</task_result>\n"; status != 0 || stdout.String() != want {
		t.Fatalf("status %d\n%s\n%s", status, stdout.String(), stderr.String())
	}
	screen := stderr.String()
	for _, want := range []string{
		"general asks to call shell_exec echo one",
		"[a] always: echo *",
		"shell_exec echo three  ok",
		"The user denied shell_exec: not on\tmy watch",
		"shell_exec rm -rf y  failed: shell_exec was not approved: the terminal was closed",
	} {
		if !strings.Contains(screen, strings.ReplaceAll(want, "\t", " ")) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if n := strings.Count(screen, "asks to call"); n != 4 {
		t.Errorf("%d questions, want 4: the third echo has been allowed for good", n)
	}
	rules, err := os.ReadFile(filepath.Join(state, "permissions.jsonc"))
	if err != nil || !strings.Contains(string(rules), `"echo *": "allow"`) || !strings.Contains(string(rules), "// Commands.") {
		t.Errorf("permissions.jsonc: %v\n%s", err, rules)
	}
}
