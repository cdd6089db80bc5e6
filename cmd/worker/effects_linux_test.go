package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// attack is a row of effects_sample.jsonl: a command that was seen to do in a
// shell what the rules do not allow.
type attack struct {
	Rules json.RawMessage
	Args  struct{ Command string }
	Why   string
	Setup string
	Proof string // leak, rm or write:PATH
}

func attacks(t *testing.T) []attack {
	t.Helper()
	file, err := os.Open("../../testdata/permission/effects_sample.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []attack
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var a attack
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// TestAttacks runs attacks in sessions of the program, with rules that leave
// nobody to ask: each is refused, or has no effect. It takes every twelfth row,
// or with SOAK=1 (make soak) all of them.
func TestAttacks(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	step := 12
	if os.Getenv("SOAK") != "" {
		step = 1
	}
	ran := 0
	rows := attacks(t)
	for i := 0; i < len(rows); i += step {
		a := rows[i]
		t.Run(a.Args.Command, func(t *testing.T) {
			dir := t.TempDir()
			root, state := filepath.Join(dir, "ws"), filepath.Join(dir, "state")
			for _, d := range []string{root, state} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			setup := exec.CommandContext(ctx, "bash", "-c", "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m root && "+a.Setup)
			setup.Dir = root
			if out, err := setup.CombinedOutput(); err != nil {
				t.Fatalf("setup: %v\n%s", err, out)
			}
			before := a.target(root)
			call, err := json.Marshal(map[string]any{"toolCalls": []any{map[string]any{
				"name": "shell_exec", "arguments": map[string]any{"command": a.Args.Command, "timeoutSeconds": 20},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			scripts, err := os.MkdirTemp("", "") // --model takes a list, and the test's own folder may have commas
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(scripts) })
			replay := filepath.Join(scripts, "replay.jsonl")
			for path, text := range map[string][]byte{replay: append(call, "\n{\"text\": \"done\"}\n"...), filepath.Join(state, "permissions.jsonc"): a.Rules} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(ctx, program, "task", "general", "x", "--events", "--model", "replay/"+replay, "--dir", root, "--state-dir", state)
			cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if bytes.Contains(out, []byte("(exit status")) {
				ran++
			}
			if a.happened(root, out, before) {
				t.Errorf("%s: %s happened\n%s", a.Why, a.Proof, out)
			}
		})
	}
	if ran == 0 {
		t.Error("all commands were refused: none shows what the sandbox holds")
	}
}

// happened reports whether the attack has had its effect.
func (a *attack) happened(root string, out []byte, before string) bool {
	switch {
	case a.Proof == "leak":
		return bytes.Contains(out, []byte("S3CRETMARK"))
	case a.Proof == "rm":
		_, err := os.Lstat(filepath.Join(root, "data/x"))
		return err != nil
	default:
		return a.target(root) != before
	}
}

// target tells versions of the file apart that the attack writes.
func (a *attack) target(root string) string {
	path, ok := strings.CutPrefix(a.Proof, "write:")
	if !ok {
		return ""
	}
	info, err := os.Lstat(filepath.Join(root, path))
	if err != nil {
		return "none"
	}
	text, _ := os.ReadFile(filepath.Join(root, path)) // a link may lead nowhere
	return info.Mode().String() + string(text)
}
