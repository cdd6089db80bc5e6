//go:build unix

package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

var servedOn = regexp.MustCompile(`is served on (http://\S+) \(token in (.*)\)`)

// TestServeProcess: "worker serve" speaks MCP to a client with the token, and
// SIGTERM ends sessions, children and shell processes after their calls are
// answered.
func TestServeProcess(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			p := newProcess(t, `{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "exec 3>fifo; echo begun >&3; sleep 1000; echo late >&3"}}]}`, map[string]string{})
			fifo := p.newPipe(t)
			p.Args = append([]string{p.Path, "serve", "--listen", "127.0.0.1:0", "--drain", "1s"}, p.Args[2:]...)
			p.Stderr = nil
			stderr, err := p.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(stderr)
			var found []string
			for found == nil && said.Scan() {
				found = servedOn.FindStringSubmatch(said.Text())
			}
			if found == nil {
				t.Fatal("it does not say where it serves")
			}
			token, err := os.ReadFile(found[2])
			if err != nil {
				t.Fatal(err)
			}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			endpoint := &mcp.StreamableClientTransport{Endpoint: found[1] + "/mcp", HTTPClient: &http.Client{Transport: bearer{transport, strings.TrimSpace(string(token))}}}
			host, err := mcp.NewClient(&mcp.Implementation{Name: "test-host", Version: "1"}, nil).
				Connect(t.Context(), endpoint, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan string, 1)
			go func() {
				res, err := host.CallTool(t.Context(), call("general", "p"))
				if err != nil {
					done <- err.Error()
					return
				}
				done <- text(t, res)
			}()
			fifo.awaitBegun(t)
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if got := <-done; !strings.Contains(got, "the task was cancelled") {
				t.Errorf("the call was answered %q", got)
			}
			transport.CloseIdleConnections()
			for said.Scan() {
				t.Logf("stderr: %s", said.Text())
			}
			if err := p.Wait(); err != nil {
				t.Errorf("the process ended with %v", err)
			}
			fifo.awaitEnd(t)
			_ = host.Close() // of a server that has gone
			if got, want := p.sessions(t), "general cancelled, completed"; got != want {
				t.Errorf("sessions: %s, want %s", got, want)
			}
		})
	}
}

// bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// TestProcessSettings: a host that passes no variables on gets by with the
// config file, the log is in the state folder, and neither it nor stderr shows
// the key.
func TestProcessSettings(t *testing.T) {
	play, err := replaymodel.Parse([]byte(`{"text": "from the config file"}`))
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.Start(play, nil)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	p := newProcess(t, "", map[string]string{
		".config/agentworker/config.jsonc": fmt.Sprintf(`{"anthropicApiKeyFile": "key", "anthropicBaseUrl": %q, "logLevel": "debug"}`, server.URL),
		".config/agentworker/key":          "sk-secret-of-the-user\n",
	})
	if err := os.Chmod(filepath.Join(p.dir, ".config/agentworker/key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Args = []string{p.Path, "mcp", "--state-dir", p.state}
	host := p.connect(t, nil)
	res, err := host.CallTool(context.WithoutCancel(t.Context()), call("explore", "p"))
	if err != nil || !strings.Contains(text(t, res), "from the config file") {
		t.Errorf("%+v, %v", res, err)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(p.state, "worker.log"))
	if err != nil || !strings.Contains(string(log), "pid=") {
		t.Errorf("the log: %q, %v", log, err)
	}
	if info, err := os.Stat(filepath.Join(p.state, "worker.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log's mode: %v, %v", info.Mode(), err)
	}
	if all := string(log) + p.stderr.String(); strings.Contains(all, "sk-secret") {
		t.Error("the key is shown")
	}
}
