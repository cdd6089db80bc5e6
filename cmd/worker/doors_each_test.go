package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/taskt"
)

// doors are a worker that serves on a NATS server, and what its clients need.
type doors struct {
	*httpDoor
	conn  *nats.Conn
	dir   string
	flags []string // of other workers of the workspace
}

// openDoors starts a worker whose model plays a script.
func openDoors(t *testing.T, script string) *doors {
	t.Helper()
	url := natsURL(t)
	file := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--nats", url, "--model", "replay/"+file)
	found := s.line(`is served on (http://127\.0\.0\.1:[0-9]+) \(token in ([^)]*)\)`)
	token, err := os.ReadFile(found[2])
	if err != nil {
		t.Fatal(err)
	}
	s.line("as the service agentworker")
	d := &doors{conn: natstest.Connect(t, url), dir: s.dir}
	d.flags = []string{"--nats", url, "--workspace", "ws", "--dir", s.dir, "--model", "replay/" + file}
	d.httpDoor = &httpDoor{&http.Client{Transport: &bearer{strings.TrimSpace(string(token)), &http.Transport{DisableKeepAlives: true}}}, found[1]}
	return d
}

// mcp connects a host with the worker that serves.
func (d *doors) mcp(t *testing.T) *mcp.ClientSession {
	t.Helper()
	return connectMCP(t, &mcp.StreamableClientTransport{Endpoint: d.url + "/mcp", HTTPClient: d.client, DisableStandaloneSSE: true})
}

func connectMCP(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	host, err := mcp.NewClient(&mcp.Implementation{Name: "doors", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	return host
}

// process is another worker of the workspace.
func (d *doors) process(t *testing.T, command string, flags ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append(append([]string{command}, flags...), d.flags...)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	return cmd
}

// page is a client that has logged in on the page.
func (d *doors) page(t *testing.T) *http.Client {
	t.Helper()
	var link struct{ URL string }
	if err := json.Unmarshal(d.post(t, "/v1/page/links", nil, http.StatusCreated), &link); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: browser{&http.Transport{DisableKeepAlives: true}}}
	resp, err := client.Get(link.URL)
	if err == nil {
		err = resp.Body.Close()
	}
	if err != nil || len(jar.Cookies(resp.Request.URL)) != 1 {
		t.Fatalf("%v: the page has let nobody in", err)
	}
	return client
}

// browser says of requests what a browser says of those of a page to its own server.
type browser struct{ next http.RoundTripper }

func (b browser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.next.RoundTrip(r)
}

// editor is an ACP client.
type editor struct {
	*acp.ClientSideConnection
	acp.Client // what no test makes use of
	ask        func() string

	updates chan acp.SessionUpdate
}

// edit starts "worker acp" for an editor. ask returns the option that its user chooses.
func (d *doors) edit(t *testing.T, ask func() string) *editor {
	t.Helper()
	cmd := d.process(t, "acp")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{ask: ask, updates: make(chan acp.SessionUpdate, 1000)}
	e.ClientSideConnection = acp.NewClientSideConnection(e, to, from)
	t.Cleanup(func() {
		to.Close()
		<-e.Done()
		if err := cmd.Wait(); err != nil {
			t.Errorf("worker acp: %v", err)
		}
	})
	if _, err := e.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	e.updates <- n.Update
	return nil
}

func (e *editor) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(e.ask()))}, nil
}

// begin opens a session in a folder.
func (e *editor) begin(t *testing.T, dir string) acp.SessionId {
	t.Helper()
	opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	return opened.SessionId
}

// outcome is how a call of an agent ended, as its caller sees it.
type outcome struct{ status, text, child string }

// eachScript has the answers of the models in TestEachDoor: of a subagent that reads a
// file, and of a primary agent that calls it.
const eachScript = `{"match": {"user": "hand it on"}, "toolCalls": [{"name": "task", "arguments": {"description": "d", "prompt": "look it up", "agentType": "explore"}}]}
{"match": {"user": "hand it on"}, "text": "It is done."}
{"match": {"user": "look it up"}, "text": "I look. ", "toolCalls": [{"name": "read_file", "arguments": {"path": "README.md"}}]}
{"match": {"user": "look it up"}, "text": "It is **0000**."}
`

// TestEachDoor: the same call through the command line, MCP on stdio and over HTTP, HTTP, NATS,
// ACP and the page has the same answer, status and events.
func TestEachDoor(t *testing.T) {
	d := openDoors(t, eachScript)
	call := waiting("look it up")
	document := func(t *testing.T, data []byte) outcome {
		t.Helper()
		var doc taskt.Document
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		return outcome{string(doc.Status), doc.Text, doc.SessionID}
	}
	through := []struct {
		name string
		call func(t *testing.T) outcome
	}{
		{"HTTP", func(t *testing.T) outcome { return document(t, d.post(t, "/v1/tasks", call, http.StatusOK)) }},
		{"NATS", func(t *testing.T) outcome { return document(t, (&natsDoor{d.conn}).request(t, "task", call)) }},
		{"command", func(t *testing.T) outcome {
			code, out, output := command(t, nil, append([]string{"task", "explore", "look it up", "--json"}, d.flags...)...)
			if code != int(cli.Done) {
				t.Fatalf("exit status %d: %s", code, output)
			}
			return document(t, []byte(out))
		}},
		{"MCP over HTTP", func(t *testing.T) outcome { return callMCP(t, d.mcp(t), call) }},
		{"MCP on stdio", func(t *testing.T) outcome {
			return callMCP(t, connectMCP(t, &mcp.CommandTransport{Command: d.process(t, "mcp")}), call)
		}},
		{"ACP", func(t *testing.T) outcome { return d.callACP(t) }},
		{"page", func(t *testing.T) outcome { return d.callPage(t) }},
	}
	want := ""
	for _, door := range through {
		t.Run(door.name, func(t *testing.T) {
			got := door.call(t)
			if got.status != "completed" || got.text != "It is **0000**." {
				t.Errorf("%+v", got)
			}
			events := strings.Join(d.stream(t, got.child), "\n")
			if want == "" {
				want = events
				for _, part := range []string{`"session_start"`, `"tool_call_end"`, "launch code", `"delta":"It is **0000**."`, `"status":"completed"`} {
					if !strings.Contains(want, part) {
						t.Errorf("the events lack %s:\n%s", part, want)
					}
				}
			}
			if events != want {
				t.Errorf("the events are\n%s\nand not\n%s", events, want)
			}
		})
	}
}

func callMCP(t *testing.T, host *mcp.ClientSession, call any) outcome {
	t.Helper()
	res, text := (&mcpDoor{host}).call(t, "task", call)
	status, _ := res.Meta["status"].(string)
	id, _ := res.Meta["sessionId"].(string)
	return outcome{status, ofElement(text), id}
}

// ofElement is the text in a result's element.
func ofElement(text string) string {
	_, text, _ = strings.Cut(text, "<task_result agent=\"explore\">\n")
	text, _, _ = strings.Cut(text, "\n</task_result>")
	return text
}

// callACP has a primary agent call the agent. What its client is shown of the call is its end.
func (d *doors) callACP(t *testing.T) outcome {
	t.Helper()
	e := d.edit(t, func() string { return "reject_once" })
	id := e.begin(t, d.dir)
	if _, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("hand it on")}}); err != nil {
		t.Fatal(err)
	}
	var got outcome
	for got.status == "" {
		if u := (<-e.updates).ToolCallUpdate; u != nil && u.Status != nil && *u.Status != acp.ToolCallStatusInProgress {
			got.status, got.text = string(*u.Status), ofElement(u.Content[0].Content.Content.Text.Text)
		}
	}
	got.child = d.childOf(t, string(id))
	return got
}

// childOf returns the one child of a session.
func (d *doors) childOf(t *testing.T, parent string) string {
	t.Helper()
	var list struct {
		Sessions []struct{ ID, ParentID string }
	}
	resp, err := d.client.Get(d.url + "/v1/sessions?all=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		if s.ParentID == parent {
			return s.ID
		}
	}
	t.Fatalf("%s has no child in %+v", parent, list)
	return ""
}

// callPage makes the requests that the page makes: it starts the task, hears of its end, and
// shows the transcript.
func (d *doors) callPage(t *testing.T) outcome {
	t.Helper()
	client := d.page(t)
	at := &httpDoor{client, d.url}
	started := at.post(t, "/v1/tasks", inBackground("look it up"), http.StatusAccepted)
	got := outcome{child: accepted(t, started)}
	resp, err := client.Get(d.url + "/page/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for data := range eventData(resp.Body) {
		var update struct {
			Rows []struct {
				ID, Status string
				EndedAt    int64
			}
		}
		if err := json.Unmarshal(data, &update); err != nil {
			t.Fatal(err)
		}
		for _, row := range update.Rows {
			if row.ID == got.child && row.EndedAt != 0 {
				got.status = row.Status
			}
		}
		if got.status != "" {
			break
		}
	}
	var transcript struct{ Blocks []struct{ Kind, HTML string } }
	shown, err := client.Get(d.url + "/page/sessions/" + got.child)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Body.Close()
	if err := json.NewDecoder(shown.Body).Decode(&transcript); err != nil {
		t.Fatal(err)
	}
	last := transcript.Blocks[len(transcript.Blocks)-1].HTML
	got.text = strings.NewReplacer("<p>", "", "</p>\n", "", "<strong>", "**", "</strong>", "**").Replace(last)
	return got
}

// eventData yields the data of the server-sent events of an answer.
func eventData(body io.Reader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !yield([]byte(data)) {
				return
			}
		}
	}
}

// stream returns the events of a session that has ended, a line each. It leaves out ids,
// times, and how a text was cut into pieces.
func (d *doors) stream(t *testing.T, id string) []string {
	t.Helper()
	resp, err := d.client.Get(d.url + "/v1/sessions/" + id + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var events []string
	delta := ""
	for data := range eventData(resp.Body) {
		var ev map[string]any
		if err := json.Unmarshal(data, &ev); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if ev["type"] == "content_delta" {
			delta += ev["delta"].(string)
			continue
		}
		if delta != "" {
			events, delta = append(events, toJSON(t, map[string]any{"type": "content_delta", "delta": delta})), ""
		}
		for _, made := range []string{"durationMs", "description"} {
			delete(ev, made)
		}
		events = append(events, madeUp.ReplaceAllString(toJSON(t, ev), "${1}_"))
	}
	return events
}

// madeUp are ids.
var madeUp = regexp.MustCompile(`(ses|msg|apr|call)_[0-9a-z]{6,}(-\d+)?`)
