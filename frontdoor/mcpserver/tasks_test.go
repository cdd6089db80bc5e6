package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// taskMeta is what each request has of a client that takes tasks, and has forms.
const taskMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"2"}}`

// taskMessage is an answer or a notification about a task.
type taskMessage struct {
	ID     json.RawMessage
	Method string
	Result taskSeen
	Params struct {
		taskSeen
		Notifications struct{ TaskIDs []string }
	}
	Error struct {
		Code int
		Data json.RawMessage
	}
}

type taskSeen struct {
	Meta           map[string]any `json:"_meta"`
	ResultType     string
	TaskID         string
	Status         string
	StatusMessage  string
	TTLMs          *int64
	PollIntervalMs int
	InputRequests  map[string]struct{ Method string }
	Result         struct {
		ResultType string
		Content    []struct{ Text string }
		IsError    bool
	}
	Error   struct{ Code int }
	Content []struct{ Text string }
}

// next returns the next message.
func (r *raw) next() (msg taskMessage) {
	r.t.Helper()
	if !r.lines.Scan() {
		r.t.Fatalf("the output has ended: %v", r.lines.Err())
	}
	if err := json.Unmarshal(r.lines.Bytes(), &msg); err != nil {
		r.t.Fatalf("%s: %v", r.lines.Text(), err)
	}
	return msg
}

// ask sends a request and returns its answer, and what came before that.
func (r *raw) ask(id int, method, params string) (answer taskMessage, before []taskMessage) {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params))
	for {
		msg := r.next()
		if msg.Method == "" && string(msg.ID) == fmt.Sprint(id) {
			return msg, before
		}
		before = append(before, msg)
	}
}

func (r *raw) close() {
	r.t.Helper()
	if err := r.in.Close(); err != nil {
		r.t.Fatal(err)
	}
	for r.lines.Scan() { // subscriptions end
	}
	if err := <-r.served; err != nil {
		r.t.Errorf("Serve: %v, want nil", err)
	}
}

func taskCall(prompt string) string {
	return fmt.Sprintf(`"name":"task","arguments":{"description":"d","prompt":%q,"agentType":"general"},%s`, prompt, taskMeta)
}

// TestTasks: a client that takes tasks gets one, hears what it waits for, answers, and
// has the result; so has the same client over another connection.
func TestTasks(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Kept: time.Hour}}.open(t)
	r := e.raw(t.Context(), t)
	made, _ := r.ask(1, "tools/call", taskCall("echo hello"))
	id := made.Result.TaskID
	if made.Result.ResultType != "task" || made.Result.Status != "working" || !strings.HasPrefix(id, "ses_") || made.Result.PollIntervalMs != 1000 || made.Result.TTLMs == nil || *made.Result.TTLMs < time.Hour.Milliseconds() {
		t.Fatalf("the call: %+v", made)
	}
	about := fmt.Sprintf(`"taskId":%q,%s`, id, taskMeta)
	if got, _ := r.ask(2, "tasks/get", about); got.Result.ResultType != "complete" || got.Result.TaskID != id {
		t.Errorf("at once: %+v", got)
	}

	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"taskIds":[%q,"ses_nobody"]},%s}}`, id, taskMeta))
	if ack := r.next(); ack.Method != "notifications/subscriptions/acknowledged" || !slices.Equal(ack.Params.Notifications.TaskIDs, []string{id}) {
		t.Fatalf("the acknowledgement: %+v", ack)
	}
	waits := r.next()
	for waits.Params.Status == "working" {
		waits = r.next()
	}
	a := e.pending(t)
	if waits.Method != "notifications/tasks" || waits.Params.Status != "input_required" || waits.Params.InputRequests[a.ID].Method != "elicitation/create" || waits.Params.Meta["io.modelcontextprotocol/subscriptionId"] != 3.0 {
		t.Fatalf("%+v, want the question %s", waits, a.ID)
	}

	answer := func(id int, key, decision string) taskMessage {
		got, _ := r.ask(id, "tasks/update", fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":{"decision":%q}}},%s`, key, decision, about))
		return got
	}
	if got, _ := r.ask(7, "tasks/update", fmt.Sprintf(`"inputResponses":{%q:7},%s`, a.ID, about)); got.Error.Code != -32602 {
		t.Errorf("an answer that is none: %+v", got)
	}
	if got := answer(4, "apr_nobody", "allow once"); got.Result.ResultType != "complete" || !e.pending(t).Pending() {
		t.Errorf("an answer to what is not asked: %+v", got)
	}
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tasks/update","params":{"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},%s}}`, a.ID, about))
	var last taskMessage
	for last.Params.Status != "completed" {
		last = r.next()
	}
	if res := last.Params.Result; res.IsError || res.ResultType != "complete" || len(res.Content) != 1 || !strings.Contains(res.Content[0].Text, "hello") {
		t.Errorf("the end: %+v", last)
	}
	if got, _ := r.ask(6, "tasks/cancel", about); got.Result.ResultType != "complete" {
		t.Errorf("cancelled behind its end: %+v", got)
	}
	other := e.raw(t.Context(), t)
	if got, _ := other.ask(1, "tasks/get", about); got.Result.Status != "completed" || len(got.Result.Result.Content) != 1 {
		t.Errorf("over another connection: %+v", got)
	}
	r.close()
	other.close()
}

// TestTaskHasty: an answer that came too soon to have read the question is not one; the
// question is put again under another name.
func TestTaskHasty(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Reflex: time.Hour}}.open(t)
	r := e.raw(t.Context(), t)
	made, _ := r.ask(1, "tools/call", taskCall("echo hello"))
	about := fmt.Sprintf(`"taskId":%q,%s`, made.Result.TaskID, taskMeta)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"taskIds":[%q]},%s}}`, made.Result.TaskID, taskMeta))
	var keys []string
	for len(keys) < 3 {
		msg := r.next()
		for key := range msg.Params.InputRequests {
			if slices.Contains(keys, key) {
				t.Fatalf("the key %s is there twice", key)
			}
			keys = append(keys, key)
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tasks/update","params":{"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},%s}}`, 10+len(keys), key, about))
		}
	}
	for waits := ""; !strings.Contains(waits, "worker approvals approve"); {
		got := r.next()
		waits = got.Params.StatusMessage
		if got.Params.Status == "completed" {
			t.Fatal("an answer that nobody has given has counted")
		}
		if string(got.ID) == "13" {
			got, _ := r.ask(20, "tasks/get", about)
			waits = got.Result.StatusMessage
		}
	}
	if !e.pending(t).Pending() {
		t.Error("the approval was answered")
	}
	r.close()
}

// TestTasksRefused: a client that does not name the extension can't use it, and an id of no
// task is refused. A call that starts nothing has a result.
func TestTasksRefused(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	r := e.raw(t.Context(), t)
	made, _ := r.ask(1, "tools/call", `"name":"task","arguments":{"description":"d","prompt":"p","agentType":"general"},`+modernMeta)
	if made.Result.ResultType != "complete" || made.Result.TaskID != "" || len(made.Result.Content) != 1 {
		t.Errorf("without the extension: %+v", made)
	}
	id, root := made.Result.Meta["sessionId"].(string), ""
	for _, rec := range e.records(t) {
		if rec.ParentID == "" {
			root = rec.ID
		}
	}
	for i, tt := range []struct {
		method, params string
		code           int
	}{
		{"tasks/get", fmt.Sprintf(`"taskId":%q,%s`, id, modernMeta), -32021},
		{"tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{},%s`, id, modernMeta), -32021},
		{"tasks/cancel", fmt.Sprintf(`"taskId":%q,%s`, id, modernMeta), -32021},
		{"subscriptions/listen", fmt.Sprintf(`"notifications":{"taskIds":[%q]},%s`, id, modernMeta), -32021},
		{"tasks/get", `"taskId":"ses_nobody",` + taskMeta, -32602},
		{"tasks/get", `"taskId":"",` + taskMeta, -32602},
		{"tasks/get", taskMeta, -32602},
		{"tasks/get", fmt.Sprintf(`"taskId":%q,%s`, id[:8], taskMeta), -32602},
		{"tasks/get", fmt.Sprintf(`"taskId":%q,%s`, root, taskMeta), -32602},
		{"tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":7,%s`, id, taskMeta), -32602},
		{"tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{"a":7},%s`, id, taskMeta), 0},
		{"tasks/result", fmt.Sprintf(`"taskId":%q,%s`, id, taskMeta), -32601},
	} {
		got, _ := r.ask(10+i, tt.method, tt.params)
		if got.Error.Code != tt.code || tt.code == -32021 && !strings.Contains(string(got.Error.Data), `"io.modelcontextprotocol/tasks":{}`) {
			t.Errorf("%s %s: %+v, want %d", tt.method, tt.params, got, tt.code)
		}
	}
	for i, call := range []string{
		`"name":"task","arguments":{"description":"d","prompt":"p","agentType":"nobody"},` + taskMeta,
		`"name":"agents_list","arguments":{},` + taskMeta,
		`"name":"task","arguments":{"description":"d","prompt":"p","agentType":"general","background":true},` + taskMeta,
	} {
		if got, _ := r.ask(30+i, "tools/call", call); got.Result.ResultType != "complete" || len(got.Result.Content) == 0 {
			t.Errorf("%s: %+v, want a result", call, got)
		}
	}
	r.close()

	old := e.raw(t.Context(), t)
	old.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"raw","version":"1"}}}`)
	if result, _ := old.expect("0"); strings.Contains(string(result), "extensions") {
		t.Errorf("initialize: %s", result)
	}
	old.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got, _ := old.ask(1, "tasks/get", ""); got.Error.Code != -32021 {
		t.Errorf("of an older version: %+v", got)
	}
	old.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/cancel"}`)
	if got := old.next(); got.Error.Code != -32021 {
		t.Errorf("without params: %+v", got)
	}
	old.close()
}

// TestTaskHTTP: over HTTP a task goes on without a request, is heard of and cancelled by
// its id, which the header has too.
func TestTaskHTTP(t *testing.T) {
	begun := make(chan string, 1)
	w := newEnv(t, hang(begun), 0, nil).web(t, nil)
	made := w.ask(t, "tools/call", "task", taskCall("p")).message(t)
	id := made.Result.TaskID
	if made.Result.ResultType != "task" {
		t.Fatalf("the call: %+v", made)
	}
	<-begun
	about := fmt.Sprintf(`"taskId":%q,%s`, id, taskMeta)
	for _, name := range []string{"", "ses_another"} {
		refused := w.ask(t, "tasks/get", name, about)
		if got := refused.message(t); refused.StatusCode != http.StatusBadRequest || got.Error.Code != -32020 || string(got.ID) != "1" {
			t.Errorf("the header %q: %s %+v", name, refused.Status, got)
		}
	}
	listening := w.ask(t, "subscriptions/listen", "", fmt.Sprintf(`"notifications":{"taskIds":[%q]},%s`, id, taskMeta))
	defer listening.Body.Close()
	if ack := listening.event(t); !slices.Equal(ack.Params.Notifications.TaskIDs, []string{id}) {
		t.Fatalf("the acknowledgement: %+v", ack)
	}
	if now := listening.event(t); now.Method != "notifications/tasks" || now.Params.Status != "working" {
		t.Fatalf("the first: %+v", now)
	}
	if got := w.ask(t, "tasks/cancel", id, about).message(t); got.Result.ResultType != "complete" {
		t.Fatalf("cancel: %+v", got)
	}
	if end := listening.event(t); end.Method != "notifications/tasks" || end.Params.Status != "cancelled" {
		t.Errorf("the last: %+v", end)
	}
	if got := w.ask(t, "tasks/get", id, about).message(t); got.Result.Status != "cancelled" || got.Result.Content != nil {
		t.Errorf("behind its end: %+v", got)
	}
}

// TestTraceparent: the trace of a call is kept with the session; what is none is not.
func TestTraceparent(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for given, want := range map[string]string{parent: parent, strings.ToUpper(parent): "", "": ""} {
		params := call("general", "p")
		params.Meta = mcp.Meta{"traceparent": given}
		res, err := host.CallTool(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.sessions.Store().Index.Get(t.Context(), res.Meta["sessionId"].(string))
		if err != nil || r.Traceparent != want {
			t.Errorf("%q: %q is kept, %v, want %q", given, r.Traceparent, err, want)
		}
	}
}
