//go:build unix

package main

import (
	"bufio"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/eventbus/natstest"
)

// TestHandOverAtStop: a worker that is stopped by Ctrl-Z leaves the store to others
// before, and works on with it when it is continued.
func TestHandOverAtStop(t *testing.T) {
	task, out := startWorker(t, "task explore x")
	for lines := bufio.NewScanner(out); !strings.Contains(lines.Text(), "started as"); {
		if !lines.Scan() {
			t.Fatalf("it ended: %v", lines.Err())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with the worker
	list := func(want ...string) {                  // one of them
		t.Helper()
		flags := task.Args[slices.Index(task.Args, "--dir"):]
		cmd := exec.Command(task.Path, slices.Concat([]string{"sessions", "list"}, flags)...)
		cmd.Env = task.Env
		output, err := cmd.CombinedOutput()
		if err != nil || !slices.ContainsFunc(want, func(s string) bool { return strings.Contains(string(output), s) }) {
			t.Errorf("the sessions are listed as %s, %v, want %s", output, err, want)
		}
	}
	natstest.StopProcess(t, task.Process, syscall.SIGTSTP)
	list("queued", "running")
	if err := task.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	endWorker(t, task, syscall.SIGTERM, 130)
	list("cancelled")
}
