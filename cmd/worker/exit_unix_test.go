//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExitAtSignal: a server that a signal stops ends with 0, and an interrupted task with
// 130. It makes no difference whether the worker opens its store or works already.
func TestExitAtSignal(t *testing.T) {
	// The workers have the system's own handling of SIGHUP, also where these tests run with
	// it ignored.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
	for _, tt := range []struct {
		args    string
		working string // what is read once it works
		status  int
		says    string // before the signal
	}{
		{"task explore x", "started as", 130, "the task was cancelled: "},
		{"run x", "started as", 130, "the task was cancelled: "},
		{"mcp", `"result"`, 0, ""},
		{"serve --listen 127.0.0.1:0", "is served on", 0, ""},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			command, _, _ := strings.Cut(tt.args, " ")
			t.Run(command+"/opening/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				l, err := net.Listen("tcp", "127.0.0.1:0") // a NATS server that says nothing
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				cmd, out := startWorker(t, tt.args+" --nats nats://"+l.Addr().String())
				conn, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				endWorker(t, cmd, sig, tt.status)
				output, err := io.ReadAll(out)
				if want := tt.says + sig.String(); err != nil || tt.says != "" && !strings.Contains(string(output), want) {
					t.Errorf("%v, it says %q, not %q", err, output, want)
				}
			})
			t.Run(command+"/working/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				cmd, out := startWorker(t, tt.args)
				for lines := bufio.NewScanner(out); !strings.Contains(lines.Text(), tt.working); {
					if !lines.Scan() {
						t.Fatalf("it ended: %v", lines.Err())
					}
				}
				go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with the worker
				endWorker(t, cmd, sig, tt.status)
			})
		}
	}
}

// TestNohup: a worker that starts with SIGHUP ignored outlives the terminal.
func TestNohup(t *testing.T) {
	cmd, out := startWorker(t, "run x", "sh", "-c", `trap "" HUP; exec "$@"`, "sh")
	lines := bufio.NewScanner(out)
	for !strings.Contains(lines.Text(), "started as") {
		if !lines.Scan() {
			t.Fatalf("it ended: %v", lines.Err())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	endWorker(t, cmd, syscall.SIGTERM, 130)
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if !strings.Contains(last, "terminated") {
		t.Errorf("it ended with %q, want SIGTERM as the reason", last)
	}
}

// startWorker starts a worker whose model hangs, by the program before if one is
// given, with a request of MCP on stdin, and returns its output.
func startWorker(t *testing.T, args string, before ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "replay.jsonl")
	if err := os.WriteFile(script, []byte(`{"hang": true}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); send.Close() })
	line := slices.Concat(before, []string{path}, strings.Fields(args), []string{"--dir", dir, "--state-dir", filepath.Join(dir, "state"), "--model", "replay/" + script})
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell starts it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	in.Close()
	w.Close()
	if _, err := fmt.Fprintln(send, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`); err != nil {
		t.Fatal(err)
	}
	return cmd, r
}

// endWorker sends a signal and checks the status.
func endWorker(t *testing.T, cmd *exec.Cmd, sig syscall.Signal, want int) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the status tells
	late.Stop()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status %d (%s), want %d", got, cmd.ProcessState, want)
	}
}
