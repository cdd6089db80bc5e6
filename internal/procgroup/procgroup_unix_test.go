//go:build unix

package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"github.com/agentworker/worker/internal/procgroup"
)

// started runs a shell with a child that holds the pipe open, and returns once the child runs.
func started(t *testing.T, ctx context.Context) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "sleep 600 & echo ready; wait")
	procgroup.Own(cmd, syscall.SIGTERM)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { procgroup.Kill(cmd) })
	pipe := bufio.NewReader(out)
	if line, err := pipe.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, pipe
}

// TestKill: the child ends, too. Reading goes on until nobody holds the pipe.
func TestKill(t *testing.T) {
	cmd, pipe := started(t, t.Context())
	procgroup.Kill(cmd)
	_, _ = io.ReadAll(pipe)
	_ = cmd.Wait()
	procgroup.Kill(cmd) // nothing is left
}

// TestContext: the end of the context reaches the child.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, pipe := started(t, ctx)
	cancel()
	_, _ = io.ReadAll(pipe)
	if err := cmd.Wait(); err == nil {
		t.Error("the command has ended well")
	}
}
