package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamage: every command says what a damaged store has lost, on stderr.
func TestDamage(t *testing.T) {
	program, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	worker := func(args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(program, append(args, "--dir", dir, "--state-dir", state)...)
		cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, errs.String())
		}
		return string(out), errs.String()
	}
	worker("task", "explore", "x", "--model", "offline")
	if _, stderr := worker("sessions", "list"); stderr != "" {
		t.Errorf("before the damage: %s", stderr)
	}
	if err := os.Truncate(filepath.Join(state, "nats", "jetstream", "$G", "streams", "AGENT_EVENTS", "msgs", "1.blk"), 1000); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		stdout, stderr := worker("sessions", "list", "--json")
		for _, part := range []string{"of AGENT_EVENTS are lost: 1.blk was cut off", "losses.json"} {
			if !strings.Contains(stderr, part) || strings.Contains(stdout, part) {
				t.Errorf("stderr %q, want %q in it, and not in stdout", stderr, part)
			}
		}
	}
}
