package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/session/lease"
)

// natsURL starts a NATS server with JetStream and returns its address.
func natsURL(t *testing.T) string {
	t.Helper()
	return natstest.Start(t, server.Options{}).ClientURL()
}

// command runs a command line in a home of its own.
func command(t *testing.T, environ []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := newProgram(&out, &errs, append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, environ...)...)
	status = p.run(t.Context(), args)
	return status, out.String(), errs.String()
}

// TestWorkers: workers of a workspace are listed, and that their agents differ.
func TestWorkers(t *testing.T) {
	t.Parallel()
	url := natsURL(t)
	dir := t.TempDir()
	at := []string{"--nats", url, "--workspace", "ws", "--dir", dir}
	if status, out, stderr := command(t, nil, append([]string{"workers"}, at...)...); status != int(cli.Done) || out != "" || !strings.Contains(stderr, "no worker runs agents") {
		t.Errorf("of none: %d %q %q", status, out, stderr)
	}
	first, second := serve(t, "--nats", url), serve(t, "--nats", url)
	first.line("as the service agentworker")
	second.line("as the service agentworker")
	status, out, stderr := command(t, nil, append([]string{"workers"}, at...)...)
	if status != int(cli.Done) || strings.Count(out, "\n") != 3 || strings.Count(out, "0/10") != 2 || stderr != "" {
		t.Errorf("of two with the same agents: %d %q %q", status, out, stderr)
	}

	folder := filepath.Join(second.dir, ".agents", "agents")
	file := "---\nname: reviewer\ndescription: Reviews.\n---\nReview.\n"
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "reviewer.md"), []byte(file), 0o644)); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Workers   []lease.Worker
		AgentSets []struct{ Workers []string }
	}
	for deadline := time.Now().Add(time.Minute); len(doc.AgentSets) < 2; { // by the next renewal of its entry
		status, out, stderr = command(t, nil, append([]string{"workers", "--json"}, at...)...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || status != int(cli.Done) || time.Now().After(deadline) {
			t.Fatalf("of two with other agents: %d %v %s %s", status, err, out, stderr)
		}
	}
	if !strings.Contains(stderr, "do not have the same agents") || len(doc.Workers) != 2 {
		t.Errorf("of two with other agents: %s%s", out, stderr)
	}
	for _, w := range doc.Workers {
		if w.BootID == "" || w.Workspace != "ws" || w.Host == "" || w.PID != os.Getpid() || w.Version == "" || w.Capacity != 10 || !w.Serving || w.StartedAt.IsZero() {
			t.Errorf("worker %+v", w)
		}
	}
	if status := second.end(); status != int(cli.Done) {
		t.Errorf("exit status %d", status)
	}
	if _, out, stderr := command(t, nil, append([]string{"workers"}, at...)...); strings.Count(out, "\n") != 2 || stderr != "" {
		t.Errorf("of one: %q %q", out, stderr)
	}
}

// TestNATSFlags: wrong use is status 2, and shows no secret.
func TestNATSFlags(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		args    []string
		status  int
		says    string
	}{
		{nil, []string{"--nats-creds", "x"}, int(cli.WrongUse), "that is not given"},
		{[]string{"WORKER_NATS_TOKEN_FILE=x"}, nil, int(cli.WrongUse), "that is not given"},
		{nil, []string{"--replicas", "3"}, int(cli.WrongUse), "that is not given"},
		{nil, []string{"--nats", "nats://h", "--replicas", "2"}, int(cli.WrongUse), "1, 3 or 5"},
		{nil, []string{"--nats", "nats://h", "--nats-creds", "x", "--nats-nkey", "y"}, int(cli.WrongUse), "give only one of them"},
		{nil, []string{"--nats", "nats://h", "--nats-tls-cert", "x"}, int(cli.WrongUse), "together, or neither"},
		{nil, []string{"--nats", "nats://u:h0nter/2@h"}, int(cli.WrongUse), "address 1 is not a URL"},
		{[]string{"WORKER_NATS=http://u:h0nter@h"}, nil, int(cli.WrongUse), "begins with http:"},
		{nil, []string{"--nats", "nats://u:h0nter@127.0.0.1:1"}, int(cli.Failed), "no server answers there"},
		{nil, []string{"--nats", "nats://127.0.0.1:1", "--nats-creds", "/nonexistent/x"}, int(cli.Failed), "/nonexistent/x"},
	} {
		status, _, stderr := command(t, tt.environ, append([]string{"sessions", "list", "--dir", t.TempDir()}, tt.args...)...)
		if status != tt.status || !strings.Contains(stderr, tt.says) || strings.Contains(stderr, "h0nter") {
			t.Errorf("%v %v: exit status %d, %q, want %d, %q", tt.environ, tt.args, status, stderr, tt.status, tt.says)
		}
	}
}
