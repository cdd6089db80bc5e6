//go:build unix

package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// buildWorker builds the worker once for all tests.
var buildWorker = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "worker")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/worker").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the worker: %w\n%s", err, out)
	}
	return path, nil
})

// process is "worker mcp" as a host starts it: with a workspace of its own,
// and no more of an environment than Codex passes on.
type process struct {
	*exec.Cmd
	dir    string
	state  string
	stderr bytes.Buffer
}

// newProcess returns a process that is not started. Its model plays script;
// files (name to content) are in the workspace.
func newProcess(t testing.TB, script string, files map[string]string) *process {
	t.Helper()
	worker, err := buildWorker()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{dir: t.TempDir(), state: t.TempDir()}
	files["script.jsonl"] = script
	for name, content := range files {
		path := filepath.Join(p.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	rules := filepath.Join(p.state, "permissions.jsonc")
	if err := os.WriteFile(rules, []byte(`{"*": "allow"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Cmd = exec.Command(worker, "mcp", "--state-dir", p.state, "--model", "replay/script.jsonl", "--log-level", "warn")
	p.Dir = p.dir
	p.Env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH")}
	p.Stderr = &p.stderr
	return p
}

// connect starts the process and a client of the SDK. The connection ends with
// the test, and then the process must have ended with status 0.
func (p *process) connect(t testing.TB, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-host", Version: "1.2.3"}, opts)
	host, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: p.Cmd, TerminateDuration: time.Minute}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Errorf("the end of the process: %v\n%s", err, p.stderr.String())
		}
	})
	return host
}

// sessions returns "agent status" of all sessions, once the process has ended.
func (p *process) sessions(t *testing.T) string {
	t.Helper()
	list := exec.Command(p.Path, "sessions", "list", "--all", "--json", "--state-dir", p.state)
	list.Dir, list.Env = p.dir, p.Env
	out, err := list.Output()
	if err != nil {
		t.Fatalf("worker sessions list: %v", err)
	}
	var records []struct{ Agent, Status string }
	if err := json.Unmarshal(out, &records); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range records {
		all = append(all, strings.TrimSpace(r.Agent+" "+r.Status))
	}
	return strings.Join(all, ", ")
}

func TestProcess(t *testing.T) {
	p := newProcess(t, `
{"match": {"user": "look"}, "toolCalls": [{"name": "list_dir", "arguments": {}}]}
{"match": {"user": "look"}, "text": "seen", "delayMs": 100}
{"match": {"user": "hang"}, "hang": true}
`, map[string]string{".agents/agents/aide.md": "---\ndescription: Helps.\n---\n"})
	told := newProgress()
	host := p.connect(t, told.options())

	list, err := host.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 8 || !strings.Contains(list.Tools[1].Description, "- aide: Helps.\n") {
		t.Fatalf("tools %+v, %v", list, err)
	}

	var calls sync.WaitGroup
	for i := range 2 {
		calls.Go(func() {
			res, err := host.CallTool(t.Context(), withToken(call("aide", fmt.Sprintf("look %d", i)), fmt.Sprintf("tok%d", i)))
			if err != nil || text(t, res) != "<task_result agent=\"aide\">\nseen\n</task_result>" {
				t.Errorf("call %d: %+v, %v", i, res, err)
			}
		})
	}
	calls.Wait()
	for _, token := range []string{"tok0", "tok1"} {
		if !slices.ContainsFunc(told.messages(token), func(m string) bool { return strings.HasPrefix(m, "aide: step 1: list_dir") }) {
			t.Errorf("%s was told %q", token, told.messages(token))
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() {
		_, err := host.CallTool(ctx, withToken(call("aide", "hang"), "hang"))
		cancelled <- err
	}()
	if err := told.await(t.Context(), "hang", func(got []string) bool { return len(got) > 0 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}

	res, err := host.CallTool(t.Context(), call("nobody", "x"))
	if err != nil || !res.IsError || !strings.Contains(text(t, res), "accepted: aide, explore, general") {
		t.Errorf("an unknown agent: %+v, %v", res, err)
	}
	if err := host.Close(); err != nil {
		t.Fatalf("the end of the process: %v\n%s", err, p.stderr.String())
	}
	if got, want := p.sessions(t), "aide cancelled, aide completed, aide completed, completed"; got != want {
		t.Errorf("sessions: %s, want %s", got, want)
	}
	if p.stderr.Len() > 0 {
		t.Errorf("stderr: %s", p.stderr.String())
	}
}

// checkLines fails the test if a line is not JSON.
func checkLines(t *testing.T, stdout string) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stdout has %q", line)
		}
	}
}

// pipe is the FIFO that a command of the process writes to.
type pipe struct {
	path  string
	file  *os.File
	lines *bufio.Reader
}

// newPipe makes the FIFO in the process's folder.
func (p *process) newPipe(t *testing.T) *pipe {
	t.Helper()
	path := filepath.Join(p.dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return &pipe{path: path}
}

// awaitBegun waits until the command has begun.
func (f *pipe) awaitBegun(t *testing.T) {
	t.Helper()
	var err error
	if f.file, err = os.Open(f.path); err != nil { // when the command has opened it too
		t.Fatal(err)
	}
	f.lines = bufio.NewReader(f.file)
	if line, err := f.lines.ReadString('\n'); line != "begun\n" {
		t.Fatalf("the command wrote %q, %v", line, err)
	}
}

// awaitEnd waits until nobody holds the other end any more.
func (f *pipe) awaitEnd(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(f.lines); err != nil || len(rest) > 0 {
		t.Errorf("the command went on: %q, %v", rest, err)
	}
	if err := f.file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestProcessEnd: in whatever way the host ends, the process ends with status 0, and so
// does the shell command of its child.
func TestProcessEnd(t *testing.T) {
	for _, how := range []string{"EOF", "SIGTERM", "SIGINT and SIGTERM", "the host is gone"} {
		t.Run(how, func(t *testing.T) {
			p := newProcess(t, `
{"match": {"user": "stubborn"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "./stubborn"}}]}
{"match": {"user": "yielding"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "exec 3>fifo; echo begun >&3; sleep 1000; echo late >&3"}}]}
`, map[string]string{"stubborn": "#!/bin/sh\nexec 3>fifo\ntrap 'echo told >&3' TERM\nsleep 1000 &\necho begun >&3\nwait\nsleep 1000\n"})
			if err := os.Chmod(filepath.Join(p.dir, "stubborn"), 0o755); err != nil {
				t.Fatal(err)
			}
			prompt := "yielding"
			if how == "SIGINT and SIGTERM" {
				prompt = "stubborn"
			}
			fifo := p.newPipe(t)
			stdin, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := p.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}
rubbish
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"`+prompt+`","agentType":"general"},"_meta":{"progressToken":1}}}
`)
			if err != nil {
				t.Fatal(err)
			}
			fifo.awaitBegun(t)
			var out []byte
			switch how {
			case "EOF":
				err = stdin.Close()
			case "SIGTERM":
				err = p.Process.Signal(syscall.SIGTERM)
			case "SIGINT and SIGTERM": // ^C in the host's terminal, and what the host does then
				if err = p.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
				if line, err := fifo.lines.ReadString('\n'); line != "told\n" {
					t.Fatalf("the command wrote %q, %v", line, err)
				}
				err = p.Process.Signal(syscall.SIGTERM)
			default:
				err = errors.Join(stdout.Close(), stdin.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			if how != "the host is gone" {
				if out, err = io.ReadAll(stdout); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Wait(); err != nil {
				t.Fatalf("the process ended with %v\n%s", err, p.stderr.String())
			}
			fifo.awaitEnd(t)
			checkLines(t, string(out))
			if how != "the host is gone" && !strings.Contains(string(out), "the task was cancelled") {
				t.Errorf("the call was not answered: %s", out)
			}
			for line := range strings.Lines(p.stderr.String()) {
				if !strings.Contains(line, "no MCP message") && !strings.HasPrefix(line, "there are no agents but those that are built in") && !strings.Contains(line, "the host does not read any more") {
					t.Errorf("stderr: %s", line)
				}
			}
			if got, want := p.sessions(t), "general cancelled, completed"; got != want {
				t.Errorf("sessions: %s, want %s", got, want)
			}
		})
	}
}

// TestProcessAsk: what the rules ask waits for an answer by another process,
// and the host is told how to give it.
func TestProcessAsk(t *testing.T) {
	p := newProcess(t, `
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo asked"}}]}
{"match": {"result": "asked"}, "text": "it ran"}
`, map[string]string{})
	rules := filepath.Join(p.state, "permissions.jsonc")
	if err := os.WriteFile(rules, []byte(`{"*": "allow", "shell_exec": "ask"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	approve := regexp.MustCompile(`worker approvals approve (apr_\w+)`)
	answered := make(chan error, 1)
	var once sync.Once
	host := p.connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if id := approve.FindStringSubmatch(req.Params.Message); id != nil {
			once.Do(func() {
				cmd := exec.Command(p.Path, "approvals", "approve", id[1], "--state-dir", p.state)
				cmd.Dir, cmd.Env = p.Dir, p.Env
				out, err := cmd.CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, out)
				}
				answered <- err
			})
		}
	}})
	params := call("general", "p")
	params.Meta = mcp.Meta{"progressToken": "1"}
	res, err := host.CallTool(t.Context(), params)
	if err != nil || !strings.Contains(text(t, res), "it ran") {
		t.Errorf("%+v, %v", res, err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// BenchmarkStart measures from the start of the process to its answer to
// tools/list, in a repository of 1,000 agent files.
func BenchmarkStart(b *testing.B) {
	files := make(map[string]string)
	for i := range 1000 {
		files[fmt.Sprintf(".agents/agents/agent-%d.md", i)] = "---\ndescription: " + strings.Repeat("Does something. ", 20) + "\n---\nDo it.\n"
	}
	p := newProcess(b, "", files)
	for b.Loop() {
		cmd := exec.Command(p.Path, p.Args[1:]...)
		cmd.Dir, cmd.Env = p.Dir, p.Env
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		host, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := host.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := host.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkProcessCall measures a call through the stdin and stdout of a
// process. BenchmarkCall has the same without.
func BenchmarkProcessCall(b *testing.B) {
	p := newProcess(b, `{"match": {"user": "p"}, "text": "answer to p"}`, map[string]string{})
	host := p.connect(b, nil)
	for b.Loop() {
		if res, err := host.CallTool(b.Context(), call("explore", "p")); err != nil || res.IsError {
			b.Fatal(text(b, res), err)
		}
	}
}
