package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// frontDoor is one way to a worker that serves.
type frontDoor interface {
	// start starts a subagent that runs on, and returns its session id.
	start(t *testing.T, prompt string) string

	// do makes a call of an operation on one session, and reads what is known of it:
	// how it is, and its result's text if it has one.
	do(t *testing.T, operation, id string) (status, text string)

	// send interrupts one with a message, of which it gets one however often it is sent;
	// resume has one go on that has ended.
	send(t *testing.T, id, message string)
	resume(t *testing.T, id, message string)

	// wait makes a call that waits for its subagent, and returns its answer's session id
	// once that is accepted; background moves one to the background.
	wait(t *testing.T, prompt string) string
	background(t *testing.T, id string) error
}

// doorsScript is what the model answers.
const doorsScript = `{"match": {"user": "quick"}, "text": "the answer"}
{"match": {"user": "long"}, "text": "I am", "hang": true}
{"match": {"user": "turn back"}, "text": "turned back"}
`

// TestDoors runs the same scenario through MCP, HTTP, NATS and the command line. A subagent in
// the background is waited for and read, another is interrupted by a message, and a third is
// seen to run and stopped. The first is resumed after its end. A fourth, whose caller waits
// for it, is moved to the background.
func TestDoors(t *testing.T) {
	at := openDoors(t, doorsScript)
	for name, d := range map[string]frontDoor{
		"MCP":     &mcpDoor{at.mcp(t)},
		"HTTP":    at.httpDoor,
		"NATS":    &natsDoor{at.conn},
		"command": &commandDoor{natsDoor{at.conn}, at.flags},
	} {
		t.Run(name, func(t *testing.T) {
			quick, long, other := d.start(t, "quick"), d.start(t, "long"), d.start(t, "long")
			if status, text := d.do(t, "task_wait", quick); status != "completed" || text != "the answer" {
				t.Errorf("wait: %s %q", status, text)
			}
			if _, text := d.do(t, "task_result", quick); text != "the answer" {
				t.Errorf("result: %q", text)
			}
			if status, text := d.do(t, "task_list", long); record.Status(status).Ended() || status == "" {
				t.Errorf("list: %s, want that it runs: %s", status, text)
			}
			d.send(t, other, "turn back")
			d.send(t, other, "turn back")
			if status, text := d.do(t, "task_wait", other); status != "completed" || text != "turned back" {
				t.Errorf("wait for the one that was interrupted: %s %q", status, text)
			}
			if status, _ := d.do(t, "task_stop", long); status != "cancelled" {
				t.Errorf("stop: %s", status)
			}
			if status, text := d.do(t, "task_wait", long); status != "cancelled" || !strings.Contains(text, "the task was cancelled: stopped by ") {
				t.Errorf("wait for the one that was stopped: %s %q", status, text)
			}
			d.resume(t, quick, "turn back")
			if status, text := d.do(t, "task_wait", quick); status != "completed" || text != "turned back" {
				t.Errorf("wait for the one that was resumed: %s %q", status, text)
			}
			moved := moveThrough(t, at.conn, d)
			d.send(t, moved, "turn back")
			if status, text := d.do(t, "task_wait", moved); status != "completed" || text != "turned back" {
				t.Errorf("wait for the one that was moved: %s %q", status, text)
			}
		})
	}
}

// inBackground is a call of task that returns at once.
func inBackground(prompt string) map[string]any {
	return map[string]any{"description": "d", "prompt": prompt, "agentType": "explore", "background": true}
}

// interruptWith are the arguments of a message that interrupts a session, once.
func interruptWith(id, message string) map[string]any {
	return map[string]any{"sessionId": id, "message": message, "interrupt": true, "idempotencyKey": "once"}
}

// bySession are the arguments of an operation on one session.
func bySession(operation, id string) map[string]any {
	if operation == "task_list" {
		return map[string]any{}
	}
	return map[string]any{"sessionId": id}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// read reads the answer of an operation about one session.
func read(t *testing.T, operation, id string, data []byte) (status, text string) {
	t.Helper()
	var answer struct {
		Sessions []control.State
		Results  []taskt.Document
		Text     string
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, data)
	}
	for _, s := range answer.Sessions {
		if strings.HasPrefix(s.SessionID, id) { // it, or a session that continues it
			status = string(s.Status)
		}
	}
	text = answer.Text
	for _, doc := range answer.Results {
		text = doc.Text + doc.Error
	}
	return status, text
}

// accepted reads the answer of a call in the background.
func accepted(t *testing.T, data []byte) string {
	t.Helper()
	var doc taskt.Document
	if err := json.Unmarshal(data, &doc); err != nil || doc.Type != "task_accepted" || doc.Status != control.Accepted || doc.SessionID == "" {
		t.Fatalf("%v: %s", err, data)
	}
	return doc.SessionID
}

// bearer adds the token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

type httpDoor struct {
	client *http.Client
	url    string
}

func (d *httpDoor) post(t *testing.T, path string, body any, want int) []byte {
	t.Helper()
	resp, err := d.client.Post(d.url+path, "application/json", strings.NewReader(toJSON(t, body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var data json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&data); err != nil || resp.StatusCode != want {
		t.Fatalf("%s: status %d, %v: %s", path, resp.StatusCode, err, data)
	}
	return data
}

func (d *httpDoor) start(t *testing.T, prompt string) string {
	return accepted(t, d.post(t, "/v1/tasks", inBackground(prompt), http.StatusAccepted))
}

func (d *httpDoor) do(t *testing.T, operation, id string) (status, text string) {
	return read(t, operation, id, d.post(t, "/v1/tasks/"+strings.TrimPrefix(operation, "task_"), bySession(operation, id), http.StatusOK))
}

func (d *httpDoor) resume(t *testing.T, id, message string) { d.send(t, id, message) }

func (d *httpDoor) send(t *testing.T, id, message string) {
	d.post(t, "/v1/tasks/send", interruptWith(id, message), http.StatusOK)
}

type natsDoor struct{ conn *nats.Conn }

func (d *natsDoor) request(t *testing.T, endpoint string, body any) []byte {
	t.Helper()
	msg, err := d.conn.Request("agents.v1.ws.service."+endpoint, []byte(toJSON(t, body)), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return msg.Data
}

func (d *natsDoor) start(t *testing.T, prompt string) string {
	return accepted(t, d.request(t, "task", inBackground(prompt)))
}

func (d *natsDoor) do(t *testing.T, operation, id string) (status, text string) {
	return read(t, operation, id, d.request(t, operation, bySession(operation, id)))
}

func (d *natsDoor) resume(t *testing.T, id, message string) {
	if answer := d.request(t, "task_send", interruptWith(id, message)); !strings.Contains(string(answer), `"resumes":"`+id+`"`) {
		t.Fatalf("resume: %s", answer)
	}
}

func (d *natsDoor) send(t *testing.T, id, message string) {
	if answer := d.request(t, "task_send", interruptWith(id, message)); !strings.Contains(string(answer), `"messageId"`) {
		t.Fatalf("send: %s", answer)
	}
}

type mcpDoor struct{ host *mcp.ClientSession }

func (d *mcpDoor) call(t *testing.T, name string, args any) (*mcp.CallToolResult, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := d.host.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res, res.Content[0].(*mcp.TextContent).Text
}

func (d *mcpDoor) start(t *testing.T, prompt string) string {
	res, text := d.call(t, "task", inBackground(prompt))
	id, _ := res.Meta["sessionId"].(string)
	if res.IsError || res.Meta["status"] != "accepted" || !strings.Contains(text, id) {
		t.Fatalf("%v %s", res.Meta, text)
	}
	return id
}

func (d *mcpDoor) do(t *testing.T, operation, id string) (status, text string) {
	args := bySession(operation, id)
	if operation == "task_list" { // clients of this protocol share a session, and list nothing
		operation, args = "task_wait", map[string]any{"sessionId": id, "timeoutSeconds": 0}
	}
	res, text := d.call(t, operation, args)
	status, _ = res.Meta["status"].(string)
	for line := range strings.Lines(text) {
		if _, state, ok := strings.Cut(line, "session "+id+" (d): "); ok {
			status, _, _ = strings.Cut(state, ",")
		}
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<task_result agent=\"explore\">\n"), "\n</task_result>")
	return strings.TrimSpace(status), text
}

func (d *mcpDoor) resume(t *testing.T, id, message string) { d.send(t, id, message) }

func (d *mcpDoor) send(t *testing.T, id, message string) {
	if res, text := d.call(t, "task_send", interruptWith(id, message)); res.IsError {
		t.Fatalf("send: %s", text)
	}
}

// commandDoor is the command line. What it starts runs in the worker that serves.
type commandDoor struct {
	natsDoor
	flags []string
}

func (d *commandDoor) do(t *testing.T, operation, id string) (status, text string) {
	t.Helper()
	args := []string{"sessions", strings.TrimPrefix(operation, "task_")}
	switch operation {
	case "task_list": // of another process it may lack a session for a moment
		args = []string{"sessions", "wait", id, "--limit", "0s", "--json"}
	case "task_wait", "task_result":
		args = append(args, id, "--json")
	default:
		args = append(args, id)
	}
	code, out, output := command(t, nil, append(args, d.flags...)...)
	if code != int(cli.Done) && code != int(cli.Failed) && code != int(cli.OutOfTime) {
		t.Fatalf("%v: exit status %d: %s", args, code, output)
	}
	if operation == "task_stop" {
		_, status, _ = strings.Cut(strings.TrimSpace(output), ") is ")
		return status, ""
	}
	return read(t, operation, id, []byte(out))
}

func (d *commandDoor) send(t *testing.T, id, message string) {
	t.Helper()
	if code, _, output := command(t, nil, append([]string{"sessions", "send", "--interrupt", "--key", "once", id, message}, d.flags...)...); code != int(cli.Done) {
		t.Fatalf("send: exit status %d: %s", code, output)
	}
}

func (d *commandDoor) resume(t *testing.T, id, message string) {
	t.Helper()
	if code, _, output := command(t, nil, append([]string{"sessions", "resume", id, message}, d.flags...)...); code != int(cli.Done) {
		t.Fatalf("resume: exit status %d: %s", code, output)
	}
}
