//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
)

// TestKilledWorkerLeavesNothing: a worker is ended while a shell command of an
// agent runs, with processes in the background that have set themselves apart in
// every way. All hold the writing end of a named pipe, which ends with the last of
// them.
func TestKilledWorkerLeavesNothing(t *testing.T) {
	for _, sandbox := range []string{"auto", "off"} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(sandbox+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				endedWhileCommandRuns(t, sandbox, sig)
			})
		}
	}
}

// setApart starts processes in the background, of the command's own group, by job
// control, in a session of their own, and after a double fork, deaf to signals.
const setApart = `exec >fifo 2>&1; sleep 1000 & (sleep 1000 & wait) & set -m; sleep 1000 & setsid sleep 1000 & ` +
	`(setsid sh -c '(trap \"\" HUP INT TERM; sleep 1000; sleep 1000) & exit' &); echo begun; wait`

func endedWhileCommandRuns(t *testing.T, sandbox string, sig syscall.Signal) {
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "` + setApart + `"}}]}` + "\n" + `{"text": "done"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "replay.jsonl"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "task", "general", "x", "--yes", "--model", "replay/"+filepath.Join(dir, "replay.jsonl"),
		"--dir", dir, "--state-dir", filepath.Join(dir, "state"), "--sandbox", sandbox)
	cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	held, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0) // so that reading it does not end before it begins
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if err := r.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(r)
	for line := ""; strings.TrimSpace(line) != "begun"; { // the shell tells of jobs, too
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatalf("the command says %q, %v", line, err)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("processes of the command are left (%q): %v", rest, err)
	}
}

// TestKeyCommandLeavesNothing: what a key command leaves in the background ends
// with it.
func TestKeyCommandLeavesNothing(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	var s settings.Settings
	s.Register(flags)
	if err := flags.Set("openai-api-key-command", "sleep 1000 >"+fifo+" & echo begun >"+fifo+"; echo key"); err != nil {
		t.Fatal(err)
	}
	key, err := s.Provider("openai").APIKey(t.Context(), os.Environ(), os.Getenv)
	if err != nil || key != "key" {
		t.Fatalf("%q, %v", key, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "begun\n" {
		t.Errorf("processes of the command are left: %q, %v", rest, err)
	}
}
