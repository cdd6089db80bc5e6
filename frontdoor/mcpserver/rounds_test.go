package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// inputRequired is a result that asks for more.
type inputRequired struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct{ Method string }
	Meta          struct{ SessionID string } `json:"_meta"`
	Content       []struct{ Text string }
	IsError       bool
}

func (r *raw) rounds(line string) (out inputRequired) {
	r.t.Helper()
	r.send(line)
	_, result, failure := r.answer()
	if err := json.Unmarshal(result, &out); err != nil {
		r.t.Fatalf("%s: %s %s, %v", line, result, failure, err)
	}
	return out
}

// TestRounds: in the newest protocol the question is the call's result. The child lives
// until the call is made again, which only works on the same connection. Its result stays
// for a host that never does.
func TestRounds(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r, other := e.raw(t.Context(), t), e.raw(t.Context(), t)
	const again = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"description":"d","prompt":"echo hello","agentType":"general"},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},` + modernMeta + `}}`
	first := r.rounds(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"},` + modernMeta + `}}`)
	a := e.pending(t)
	if first.ResultType != "input_required" || len(first.RequestState) < 20 || len(first.InputRequests) != 1 || first.InputRequests[a.ID].Method != "elicitation/create" || first.Meta.SessionID != a.SessionID {
		t.Fatalf("the first answer: %+v, want the question %s", first, a.ID)
	}
	for name, got := range map[string]inputRequired{
		"another connection": other.rounds(fmt.Sprintf(again, 1, "task", first.RequestState, a.ID)),
		"another state":      r.rounds(fmt.Sprintf(again, 2, "task", first.RequestState+"A", a.ID)),
		"task_wait, another": r.rounds(fmt.Sprintf(again, 3, "task_wait", "A", a.ID)),
	} {
		if !got.IsError || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "answers no question of this connection") {
			t.Errorf("%s: %+v, want it refused", name, got)
		}
	}
	if !e.pending(t).Pending() {
		t.Error("a refused answer counted")
	}
	last := r.rounds(fmt.Sprintf(again, 4, "task", first.RequestState, a.ID))
	if last.ResultType != "complete" || last.IsError || !strings.Contains(last.Content[0].Text, "hello") {
		t.Errorf("the last answer: %+v", last)
	}
	if got := r.rounds(fmt.Sprintf(again, 5, "task", first.RequestState, a.ID)); !got.IsError {
		t.Errorf("the same once more: %+v, want it refused", got)
	}

	// The host never makes the call again.
	lost := r.rounds(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo lost","agentType":"general"},` + modernMeta + `}}`)
	e.approve(t, e.pending(t))
	got := r.rounds(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q},`+modernMeta+`}}`, lost.Meta.SessionID))
	if len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "lost") {
		t.Errorf("task_wait: %+v", got)
	}
	for _, conn := range []*raw{r, other} {
		if err := conn.in.Close(); err != nil {
			t.Fatal(err)
		}
		conn.end()
	}
}

// TestRoundsForgotten: of calls without end that wait for one child and are not
// made again, the last ones are remembered.
func TestRoundsForgotten(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r := e.raw(t.Context(), t)
	first := r.rounds(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"},` + modernMeta + `}}`)
	last := first
	for range 20 {
		last = r.rounds(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q},`+modernMeta+`}}`, first.Meta.SessionID))
	}
	const again = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"task_wait","arguments":{},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},` + modernMeta + `}}`
	a := e.pending(t)
	if got := r.rounds(fmt.Sprintf(again, first.RequestState, a.ID)); !got.IsError {
		t.Errorf("the first of 21: %+v, want it forgotten", got)
	}
	if got := r.rounds(fmt.Sprintf(again, last.RequestState, a.ID)); got.IsError || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "hello") {
		t.Errorf("the last of 21: %+v, want the answer", got)
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}

// TestMuddled: a client that has shaken hands with the version that has no
// handshake is asked nothing.
func TestMuddled(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r := e.raw(t.Context(), t)
	r.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.expect("0")
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"}}}`)
	for r.lines.Scan() {
		var msg struct {
			ID     int
			Method string
			Params struct{ Message string }
			Result inputRequired
		}
		if err := json.Unmarshal(r.lines.Bytes(), &msg); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(msg.Params.Message, "worker approvals approve") {
			e.approve(t, e.pending(t))
		}
		if msg.Method == "elicitation/create" || msg.Result.InputRequests != nil {
			t.Errorf("it is asked: %s", r.lines.Text())
		}
		if msg.ID == 1 {
			if len(msg.Result.Content) != 1 || !strings.Contains(msg.Result.Content[0].Text, "hello") {
				t.Errorf("%s", r.lines.Text())
			}
			break
		}
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}

// TestManyRounds: a client of the newest protocol is not asked without end; what
// it is not asked waits for an answer from elsewhere.
func TestManyRounds(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), files: map[string]string{"general.md": "---\ndescription: D.\nmaxSteps: 20\npermission: allow\n---\n"}}.open(t)
	const rounds = 8
	asked := 0
	opts := elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
	})
	opts.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if strings.Contains(req.Params.Message, "worker approvals approve") && strings.Contains(req.Params.Message, "echo late") {
			if approvals, err := e.sessions.Store().Approvals.Pending(context.Background()); err != nil || len(approvals) > 0 {
				e.approve(t, e.pending(t))
			}
		}
	}
	host := e.connectAs(t, "test-host", "2026-07-28", opts)
	var commands string
	for i := range rounds {
		commands += fmt.Sprintf("echo early %d\n", i)
	}
	commands += "echo late"
	res, err := host.CallTool(t.Context(), withToken(call("general", commands), "tok"))
	if err != nil || strings.Count(text(t, res), "early") != rounds || strings.Count(text(t, res), "late") != 1 || asked != rounds {
		t.Errorf("%v, %v after %d questions, want %d", res, err, asked, rounds)
	}
}

// TestAskedAgain: a question that is open when its call has to be answered is
// withdrawn, and put again by the call that waits next.
func TestAskedAgain(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{CallLimit: 200 * time.Millisecond}}.open(t)
	withdrawn := make(chan struct{}, 100)
	var asked, answer atomic.Bool
	host := e.connectAs(t, "test-host", "2025-11-25", elicit(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if answer.Load() {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
		}
		asked.Store(true)
		<-ctx.Done()
		withdrawn <- struct{}{}
		return nil, ctx.Err()
	}))
	res := callTool(t, host, "task", call("general", "echo hello").Arguments)
	for !asked.Load() && res.Meta["status"] == "running" { // a call may have to be answered before there is a question
		res = callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))
	}
	if !asked.Load() {
		t.Fatalf("nobody was asked: %q", text(t, res))
	}
	<-withdrawn
	answer.Store(true)
	for res.Meta["status"] == "running" {
		res = callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))
	}
	if !strings.Contains(text(t, res), "hello") {
		t.Errorf("%q", text(t, res))
	}
}
