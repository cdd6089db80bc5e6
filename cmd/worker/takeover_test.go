package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

// startModel starts a model server that plays a script.
func startModel(t *testing.T, script string) *modeltest.Server {
	t.Helper()
	play, err := replaymodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	model := modeltest.Start(play, nil)
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	return model
}

// servedProcess is "worker serve" as a process, which can be killed.
type servedProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	state string
	lines *bufio.Scanner
	url   string
}

// startServing starts one in a folder, with the model of a server.
func startServing(t *testing.T, dir, model string, args ...string) *servedProcess {
	t.Helper()
	return startServingIn(t, dir, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + model, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + model + "/v1"}, args...)
}

// startServingIn starts one in a folder, with variables of the environment.
func startServingIn(t *testing.T, dir string, environ []string, args ...string) *servedProcess {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	p := &servedProcess{t: t, state: filepath.Join(dir, "state")}
	p.cmd = exec.Command(path, "serve", "--dir", dir, "--state-dir", p.state, "--listen", "127.0.0.1:0", "--model", "anthropic/claude-haiku-5-5")
	p.cmd.Args = append(p.cmd.Args, args...)
	p.cmd.Env = append([]string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}, environ...)
	out, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	t.Cleanup(p.kill)
	return p
}

// listens waits until it serves.
func (p *servedProcess) listens() {
	p.t.Helper()
	served := regexp.MustCompile(`is served on (http://127\.0\.0\.1:[0-9]+)`)
	for p.lines.Scan() {
		if m := served.FindStringSubmatch(p.lines.Text()); m != nil {
			p.url = m[1]
			return
		}
	}
	p.t.Fatal("a worker has ended before it served")
}

func (p *servedProcess) kill() {
	_ = p.cmd.Process.Kill() // it may have been killed
	for p.lines.Scan() {
		p.t.Logf("stderr: %s", p.lines.Text())
	}
	_ = p.cmd.Wait()
}

// post makes a request, with headers (name, value, …) besides the usual ones, and returns the
// body of the answer.
func (p *servedProcess) post(path, body string, header ...string) string {
	p.t.Helper()
	token, err := os.ReadFile(filepath.Join(p.state, "serve.token"))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// stores returns when an event of a type is stored of a session.
func (p *servedProcess) stores(ctx context.Context, dir, sessionID, eventType string) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follow := exec.CommandContext(ctx, p.cmd.Path, "events", sessionID, "--json", "--dir", dir, "--state-dir", p.state)
	follow.Env = p.cmd.Env
	out, err := follow.StdoutPipe()
	if err == nil {
		err = follow.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `{"type":"`+eventType+`"`) {
			cancel()
			_ = follow.Wait() // it was killed
			return
		}
	}
	p.t.Fatalf("no %s is stored: %v", eventType, follow.Wait())
}

// tasks makes a request of a client of MCP's Tasks extension. name is the tool's name, or
// the task's id.
func (p *servedProcess) tasks(method, name, params string) string {
	p.t.Helper()
	return p.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
		"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
}

// TestTakeover: the worker of a subagent in the background is killed during a model call,
// and two that start then race for it. One goes on, once, from where the log ends; the
// caller waits for the same session at either. A task of MCP that a client was given is found
// by its id: it has failed, since nobody could go on with a call that was waited for.
func TestTakeover(t *testing.T) {
	look := `{"match": {"user": "Look"}, "toolCalls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}` + "\n"
	hanging := startModel(t, look+`{"match": {"user": "Look"}, "text": ["I was ", "about"], "hang": true}`+"\n"+`{"match": {"user": "Stay"}, "text": "I", "hang": true}`)
	model := startModel(t, look+`{"match": {"user": "Look"}, "text": "Seen."}`)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	first := startServing(t, dir, hanging.URL)
	first.listens()
	var accepted struct{ SessionID, ParentID string }
	answer := first.post("/v1/tasks", `{"description":"d","prompt":"Look","agentType":"explore","background":true}`)
	if err := json.Unmarshal([]byte(answer), &accepted); err != nil || accepted.SessionID == "" {
		t.Fatalf("%s, %v", answer, err)
	}
	made := regexp.MustCompile(`"taskId":"(ses_\w+)"`).FindStringSubmatch(first.tasks("tools/call", "task", `"name":"task","arguments":{"description":"d","prompt":"Stay","agentType":"explore"}`))
	if made == nil {
		t.Fatal("there is no task")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := hanging.Await(ctx, 3); err != nil {
		t.Fatal(err)
	}
	first.stores(ctx, dir, accepted.SessionID, "tool_call_end") // the call of the model does not wait for that
	first.kill()

	second, third := startServing(t, dir, model.URL), startServing(t, dir, model.URL)
	for _, p := range []*servedProcess{second, third} {
		p.listens()
		if got := p.post("/v1/tasks/wait", `{"sessionId":"`+accepted.SessionID+`"}`); !strings.Contains(got, `"Seen."`) {
			t.Errorf("it is waited for in vain: %s", got)
		}
		p.post("/v1/tasks/wait", `{"sessionId":"`+made[1]+`"}`)
		for id, want := range map[string]string{accepted.SessionID: "completed", made[1]: "failed"} {
			if got := p.tasks("tasks/get", id, `"taskId":"`+id+`"`); !strings.Contains(got, `"taskId":"`+id+`","status":"`+want+`"`) {
				t.Errorf("the task %s, which has %s: %s", id, want, got)
			}
		}
	}
	if calls := model.Received(); len(calls) != 1 || !bytes.Contains(calls[0].Body, []byte("hello")) || bytes.Contains(calls[0].Body, []byte("about")) {
		t.Errorf("the model was sent %+v", calls)
	}
	events, err := exec.Command(second.cmd.Path, "events", accepted.SessionID, "--stored", "--json", "--dir", dir, "--state-dir", second.state).CombinedOutput()
	if err != nil || bytes.Count(events, []byte(`"type":"session_resumed","takeover":1`)) != 1 || bytes.Count(events, []byte(`"type":"session_end","status":"completed"`)) != 1 {
		t.Errorf("%v: %s", err, events)
	}
}

// TestTakeoverCommand: nothing is left of a command in the background when its worker is killed. The
// next worker tells of its end, on the stream and in the conversation.
func TestTakeoverCommand(t *testing.T) {
	start := `{"match": {"user": "Serve"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "exec sleep 54325", "background": true}}]}` + "\n"
	hanging := startModel(t, start+`{"match": {"user": "Serve"}, "text": "I", "hang": true}`)
	model := startModel(t, start+`{"match": {"user": "Serve"}, "text": "Seen."}`)
	dir := t.TempDir()
	first := startServing(t, dir, hanging.URL, "--allow", "shell_exec:*")
	first.listens()
	var accepted struct{ SessionID string }
	answer := first.post("/v1/tasks", `{"description":"d","prompt":"Serve","agentType":"general","background":true}`)
	if err := json.Unmarshal([]byte(answer), &accepted); err != nil || accepted.SessionID == "" {
		t.Fatalf("%s, %v", answer, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := hanging.Await(ctx, 2); err != nil {
		t.Fatal(err)
	}
	first.stores(ctx, dir, accepted.SessionID, "tool_call_end")
	first.kill()
	second := startServing(t, dir, model.URL)
	second.listens()
	if got := second.post("/v1/tasks/wait", `{"sessionId":"`+accepted.SessionID+`"}`); !strings.Contains(got, `"Seen."`) {
		t.Errorf("it is waited for in vain: %s", got)
	}
	if calls := model.Received(); len(calls) != 1 || !bytes.Contains(calls[0].Body, []byte("The command cmd_1 (exec sleep 54325) in the background has ended with the worker that ran it.")) {
		t.Errorf("the model was sent %+v", calls)
	}
	events, err := exec.Command(second.cmd.Path, "events", accepted.SessionID, "--stored", "--json", "--dir", dir, "--state-dir", second.state).CombinedOutput()
	if err != nil || bytes.Count(events, []byte(`"type":"command_end","commandId":"cmd_1","signal":"signal: killed","stoppedBy":"the end of its worker"`)) != 1 {
		t.Errorf("%v: %s", err, events)
	}
	if left, err := exec.Command("pgrep", "-f", "[s]leep 54325").Output(); err == nil {
		t.Errorf("these run: %s", left)
	}
}
