package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
)

// TestStateFolderIsGone: a command whose state folder is moved away reports that and fails.
// None takes it for an interruption, nor waits for the store first.
func TestStateFolderIsGone(t *testing.T) {
	for _, tt := range []struct{ args, begun string }{
		{"serve --listen 127.0.0.1:0", "is served on"},
		{"task explore x", "started as"},
		{"run x", "started as"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			state := filepath.Join(dir, "state")
			script := filepath.Join(dir, "hang.jsonl")
			if err := os.WriteFile(script, []byte(`{"hang":true}`), 0o600); err != nil {
				t.Fatal(err)
			}
			start := func(args string) (*bufio.Scanner, <-chan int) {
				r, w := io.Pipe()
				p := newProgram(w, w, "HOME="+filepath.Join(dir, "home"), "PATH="+os.Getenv("PATH"))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for what hangs
				status := make(chan int, 1)
				go func() {
					defer cancel()
					status <- p.run(ctx, append(strings.Fields(args), "--dir", dir, "--state-dir", state, "--model", "replay/"+script))
					w.Close()
				}()
				return bufio.NewScanner(r), status
			}
			out, status := start(tt.args)
			for !strings.Contains(out.Text(), tt.begun) {
				if !out.Scan() {
					t.Fatalf("it ended with status %d", <-status)
				}
			}
			if err := os.Rename(state, state+"-2"); err != nil {
				t.Fatal(err)
			}
			moved := time.Now()
			stderr := ""
			for out.Scan() {
				stderr += out.Text() + "\n"
			}
			if s := <-status; s != int(cli.Failed) || !strings.Contains(stderr, "worker: the event store is gone: ") || strings.Contains(stderr, "has not answered") {
				t.Errorf("status %d after %v: %s", s, time.Since(moved), stderr)
			}
			if strings.Contains(stderr, "could not be stored") {
				t.Errorf("it waited for the store: %s", stderr)
			}
		})
	}
}
