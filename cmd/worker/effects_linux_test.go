package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// vector is a row of effects_sample.jsonl, a command that was seen to do in a
// shell what the rules do not allow, or of harmless2_sample.jsonl, a call that has to work.
type vector struct {
	Rules json.RawMessage
	Tool  string
	Args  struct{ Command string }
	Why   string
	Setup string
	Proof string // leak, rm or write:PATH
}

// vectors returns every twelfth row of a sample, or with SOAK=1 (make soak) all of them.
func vectors(t *testing.T, sample string) (out []vector) {
	t.Helper()
	step := 12
	if os.Getenv("SOAK") != "" {
		step = 1
	}
	for i, v := range jsonLines[vector](t, readSample(t, sample)) {
		if i%step == 0 {
			out = append(out, v)
		}
	}
	return out
}

// TestAttacks runs attacks in sessions of the program, with rules that leave
// nobody to ask: each is refused, or has no effect.
func TestAttacks(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, a := range vectors(t, "effects_sample.jsonl") {
		t.Run(a.Args.Command, func(t *testing.T) {
			root := a.workspace(t)
			before := a.target(root)
			out := a.run(t, root)
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

// TestHarmless runs everyday commands in sessions of the program: 98 of 100 have to end as
// they do in a shell.
func TestHarmless(t *testing.T) {
	t.Parallel()
	ran, wrong := 0, 0
	for _, v := range vectors(t, "harmless2_sample.jsonl") {
		if v.Tool != "shell_exec" {
			continue // TestEvalInWorkspaces has those of file tools
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", v.Args.Command)
		cmd.Dir = v.workspace(t)
		cmd.Env = environment(cmd.Dir)
		cmd.WaitDelay = time.Second
		_ = cmd.Run()
		want := fmt.Sprintf("(exit status %d)", cmd.ProcessState.ExitCode())
		out := v.run(t, v.workspace(t))
		if ran++; !bytes.Contains(out, []byte(want)) {
			wrong++
			t.Logf("%s: want %s\n%s", v.Args.Command, want, out)
		}
	}
	if t.Logf("%d of %d end as in a shell", ran-wrong, ran); ran == 0 || wrong*100 > ran*2 {
		t.Errorf("%d of %d end otherwise than in a shell", wrong, ran)
	}
}

// workspace makes the row's workspace, in a folder of its own.
func (a *vector) workspace(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	setup := exec.CommandContext(t.Context(), "bash", "-c", "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m root && "+a.Setup)
	setup.Dir = root
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	return root
}

// run has an agent of the program make the row's call, and returns the events of its session.
func (a *vector) run(t *testing.T, root string) []byte {
	t.Helper()
	program, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	call, err := json.Marshal(map[string]any{"toolCalls": []any{map[string]any{
		"name": "shell_exec", "arguments": map[string]any{"command": a.Args.Command, "timeoutSeconds": 60},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := os.MkdirTemp("", "") // --model takes a list, and the test's own folder may have commas
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scripts) })
	replay, state := filepath.Join(scripts, "replay.jsonl"), filepath.Join(filepath.Dir(root), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{replay: append(call, "\n{\"text\": \"done\"}\n"...), filepath.Join(state, "permissions.jsonc"): a.Rules} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "task", "general", "x", "--events", "--model", "replay/"+replay, "--dir", root, "--state-dir", state)
	cmd.Env = environment(root)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// environment returns the variables of programs in a workspace, with a home folder beside it. What is in PATH from the
// home folder of who runs the tests is left out: to the program it is another user's.
func environment(root string) []string {
	path := filepath.SplitList(os.Getenv("PATH"))
	if home, err := os.UserHomeDir(); err == nil {
		path = slices.DeleteFunc(path, func(dir string) bool { return strings.HasPrefix(dir, home+"/") })
	}
	return []string{"HOME=" + filepath.Join(filepath.Dir(root), "home"), "PATH=" + strings.Join(path, ":")}
}

// happened reports whether the attack has had its effect.
func (a *vector) happened(root string, out []byte, before string) bool {
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
func (a *vector) target(root string) string {
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
