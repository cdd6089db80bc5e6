package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/taskt"
)

// served is "worker serve" in a workspace of its own.
type served struct {
	t      *testing.T
	dir    string
	stderr *bufio.Scanner
	stop   context.CancelFunc
	status chan int
}

// serve starts the program with these flags. The test's end stops it.
func serve(t *testing.T, flags ...string) *served {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Rockets\n\nThe launch code is 0000.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	s := &served{t: t, dir: dir, stderr: bufio.NewScanner(out), stop: stop, status: make(chan int, 1)}
	p := newProgram(io.Discard, stderr, "HOME="+filepath.Join(dir, "home"), "PATH="+os.Getenv("PATH"))
	args := append([]string{"serve", "--dir", dir, "--state-dir", filepath.Join(dir, "state"), "--workspace", "ws", "--model", "offline", "--listen", "127.0.0.1:0"}, flags...)
	go func() {
		s.status <- p.run(ctx, args)
		stderr.Close()
	}()
	t.Cleanup(func() {
		stop()
		for s.stderr.Scan() {
		}
	})
	return s
}

// line returns the first match in the next line of stderr that has one.
func (s *served) line(pattern string) []string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	for s.stderr.Scan() {
		if m := re.FindStringSubmatch(s.stderr.Text()); m != nil {
			return m
		}
		s.t.Logf("stderr: %s", s.stderr.Text())
	}
	s.t.Fatalf("it ended without saying %s", pattern)
	return nil
}

// end stops the program and returns its exit status.
func (s *served) end() int {
	s.stop()
	for s.stderr.Scan() {
		s.t.Logf("stderr: %s", s.stderr.Text())
	}
	return <-s.status
}

const lookUp = `{"description":"a look","prompt":"What is the launch code?","agentType":"explore"}`

func TestServe(t *testing.T) {
	s := serve(t)
	found := s.line(`is served on (http://127\.0\.0\.1:[0-9]+) \(token in (.*)\)`)
	token, err := os.ReadFile(found[2])
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", found[1]+"/v1/tasks", strings.NewReader(lookUp))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc taskt.Document
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Type != "task_result" || !strings.Contains(doc.Text, "README.md:3") {
		t.Errorf("document %+v", doc)
	}
	if status := s.end(); status != int(cli.Done) {
		t.Errorf("exit status %d, want %d", status, int(cli.Done))
	}
}

// TestServeNATS: with --nats the workspace has a service there, too.
func TestServeNATS(t *testing.T) {
	srv := natstest.Start(t, server.Options{Username: "worker", Password: "secret"})
	url := strings.Replace(srv.ClientURL(), "nats://", "nats://worker:secret@", 1)
	s := serve(t, "--nats", url)
	stderr := s.line(`and on (\S+) as the service agentworker, below (\S+)`)
	if strings.Contains(stderr[0], "secret") {
		t.Errorf("it shows the password: %s", stderr[0])
	}
	msg, err := natstest.Connect(t, url).Request(stderr[2]+".task", []byte(lookUp), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var doc taskt.Document
	if err := json.Unmarshal(msg.Data, &doc); err != nil || doc.Type != "task_result" || !strings.Contains(doc.Text, "README.md:3") {
		t.Errorf("%v %s", err, msg.Data)
	}
	if status := s.end(); status != int(cli.Done) {
		t.Errorf("exit status %d, want %d", status, int(cli.Done))
	}
}

// TestServeRefuses: what keeps it from serving ends it, with a reason.
func TestServeRefuses(t *testing.T) {
	for _, tt := range []struct {
		flags  []string
		status int
		says   string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, int(cli.Failed), "not a loopback address"},
		{[]string{"--listen", "nonsense"}, int(cli.Failed), "missing port"},
		{[]string{"--nats", "nats://127.0.0.1:1"}, int(cli.Failed), "connecting to"},
		{[]string{"extra"}, int(cli.WrongUse), "unknown command"},
	} {
		s := serve(t, tt.flags...)
		s.line(tt.says)
		if status := s.end(); status != tt.status {
			t.Errorf("%v: exit status %d, want %d", tt.flags, status, tt.status)
		}
	}
}
