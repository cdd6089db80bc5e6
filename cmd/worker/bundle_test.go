package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/cmd/worker/internal/sessions"
)

const bundledAgent = `---
description: Makes.
permission:
  "*": allow
  read_file: {"*": allow, "*.env": deny}
---
Make what you are told to.
`

// TestReplay: a session plays again from its bundle elsewhere, where no tool runs; a run
// that departs is said to.
func TestReplay(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	home := []string{"HOME=" + t.TempDir()}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".agents/agents/maker.md", bundledAgent)
	write(".env", "x")
	write("script.jsonl", `{"toolCalls": [{"name": "read_file", "arguments": {"path": ".env"}}, {"name": "shell_exec", "arguments": {"command": "echo $PWD ghp_0123456789012345678901234567890123456 Bearer abcdefghijklmnopqrstuvwxyz; echo made >>made"}}]}
{"text": "made with ghp_0123456789012345678901234567890123456"}
`)
	code, out, output := command(t, home, "task", "maker", "make it", "--json", "--yes", "--dir", dir, "--model", "replay/"+filepath.Join(dir, "script.jsonl"))
	_, rest, _ := strings.Cut(out, `"sessionId": "`)
	id, _, _ := strings.Cut(rest, `"`)
	if code != 0 || id == "" {
		t.Fatalf("exit status %d: %s%s", code, out, output)
	}
	if !strings.Contains(out, "ghp_0123456789") {
		t.Errorf("the caller of the task does not get its answer: %s", out)
	}
	for _, args := range [][]string{{"sessions", "log", id}, {"sessions", "log", id, "--format", "markdown"}, {"sessions", "log", id, "--format", "jsonl"}, {"events", id, "--json", "--stored"}} {
		if code, out, output := command(t, home, append(args, "--dir", dir)...); code != 0 || strings.Contains(out, "ghp_0") || strings.Count(out, "ghp_[masked: GitHub]") < 2 {
			t.Errorf("%s: exit status %d: %s%s", args, code, out, output)
		}
	}
	file := filepath.Join(elsewhere, "bundle.tar.gz")
	if code, out, output = command(t, home, "sessions", "export", "--bundle", id, "--output", file, "--dir", dir); code != 0 || !strings.Contains(output, "look through it") {
		t.Fatalf("exit status %d: %s%s", code, out, output)
	}
	if b, err := sessions.Open(file); err != nil || len(b.Calls) != 2 || strings.Contains(b.Calls[1].Result, dir) || strings.Count(b.Calls[1].Result, "[masked: ") != 2 || strings.Contains(b.Calls[1].Arguments, "ghp_0") {
		t.Errorf("the bundle: %v %+v", err, b)
	}
	replay := func(want int, says ...string) {
		t.Helper()
		code, out, output := command(t, nil, "replay", file, "--dir", elsewhere)
		if code != want {
			t.Fatalf("exit status %d, want %d: %s%s", code, want, out, output)
		}
		for _, text := range says {
			if !strings.Contains(out+output, text) {
				t.Errorf("no %q in %s%s", text, out, output)
			}
		}
	}
	replay(0, "agent     maker on replay/", "file      maker.md, another here", "played    2 model calls, 2 tool calls", "The run is as recorded.")
	if data, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(data) != "made\n" {
		t.Errorf("the tool ran again: %q, %v", data, err)
	}
	// Another agent file has other rights.
	write(".agents/agents/maker.md", strings.Replace(bundledAgent, `"*.env": deny`, `"*.none": deny`, 1))
	if code, _, output = command(t, home, "sessions", "export", "--bundle", id, "--output", file, "--dir", dir); code != 0 {
		t.Fatal(output)
	}
	replay(1, "departs at call 2 of 2: message 3 differs")
	if err := os.WriteFile(file, []byte("no bundle"), 0o600); err != nil {
		t.Fatal(err)
	}
	replay(2, "bundle "+file)
}
