package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/procgroup"
)

// TestMain makes the test binary the programs of these tests: $PROCGROUP_TEST says which.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCGROUP_TEST") {
	case "": // the tests
		os.Exit(m.Run())
	case "shell": // has a child, which holds its stdout
		child := program(context.Background(), "child")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("ready\n")
		_ = child.Wait()
	case "worker": // runs a shell, and is killed
		cmd := program(context.Background(), "shell")
		procgroup.Own(cmd, syscall.SIGTERM)
		cmd.Stdout = os.Stdout
		if err := procgroup.Start(cmd); err != nil {
			panic(err)
		}
		<-time.After(time.Hour)
	case "child":
		<-time.After(time.Hour)
	}
}

func program(ctx context.Context, name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "PROCGROUP_TEST="+name)
	return cmd
}

// started runs a program with a child that holds the pipe open, and returns once the child runs.
func started(t *testing.T, ctx context.Context, name string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := program(ctx, name)
	procgroup.Own(cmd, syscall.SIGTERM)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := procgroup.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { procgroup.Kill(cmd) })
	pipe := bufio.NewReader(out)
	if line, err := pipe.ReadString('\n'); strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, pipe
}

// TestKill: the child ends, too. Reading goes on until nobody holds the pipe.
func TestKill(t *testing.T) {
	cmd, pipe := started(t, t.Context(), "shell")
	procgroup.Kill(cmd)
	_, _ = io.ReadAll(pipe)
	_ = cmd.Wait()
	procgroup.Kill(cmd) // nothing is left
}

// TestContext: the end of the context reaches the child.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, pipe := started(t, ctx, "shell")
	cancel()
	_, _ = io.ReadAll(pipe)
	if err := cmd.Wait(); err == nil {
		t.Error("the command has ended well")
	}
}

// TestSignal: a signal reaches the child.
func TestSignal(t *testing.T) {
	cmd, pipe := started(t, t.Context(), "shell")
	if err := procgroup.Signal(cmd, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_, _ = io.ReadAll(pipe)
	_ = cmd.Wait()
}

// TestKilledParent: on Windows what a command has started ends with the process that has started
// the command, too.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "windows" {
		t.Skip("jobs are of Windows; tool/shell_watch_unix.go has the same elsewhere, and a test of its own")
	}
	worker := program(t.Context(), "worker")
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	pipe := bufio.NewReader(out)
	if line, err := pipe.ReadString('\n'); strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = worker.Process.Kill()
	_, _ = io.ReadAll(pipe)
	_ = worker.Wait()
}
