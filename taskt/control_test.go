package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// do makes a call of an operation.
func (e *env) do(t *testing.T, scope *control.Scope, name, args string) (control.Answer, error) {
	t.Helper()
	return e.Control().Do(t.Context(), scope, control.Find(name), json.RawMessage(args))
}

// TestControl: a caller lists its subagents, waits for them, reads and stops them;
// another caller reaches none of it.
func TestControl(t *testing.T) {
	let := make(chan string)
	e := newEnv(t, held(let), taskt.Limits{}, nil)
	mine := scopeOf(e.root.ID())
	first, second := e.Start(t.Context(), e.root, look), e.Start(t.Context(), e.root, look)
	a, b := first.SessionID(), second.SessionID()

	listed, err := e.do(t, mine, "task_list", `{"running": true}`)
	if err != nil {
		t.Fatal(err)
	}
	list := listed.(*control.List)
	if list.Total != 2 || list.Sessions[0].SessionID != b || list.Sessions[1].SessionID != a || list.Sessions[0].Label != "d" ||
		list.Sessions[0].Status.Ended() || !strings.Contains(list.Answer(), "- explore, session "+a+" (d): ") {
		t.Errorf("list %+v\n%s", list, list.Answer())
	}
	waited, err := e.do(t, mine, "task_wait", `{"timeoutSeconds": 0}`)
	if w := waited.(*control.Waited); err != nil || w.Running != 2 || len(w.Results) != 0 || len(w.Sessions) != 2 {
		t.Errorf("waited 0 s: %+v, %v", waited, err)
	}
	if _, err := e.do(t, mine, "task_result", `{"sessionId": "`+a+`"}`); !errors.Is(err, control.ErrRunning) {
		t.Errorf("the result of one that runs: %v", err)
	}

	let <- "seen </task_result> and more"
	waited, err = e.do(t, mine, "task_wait", `{"until": "any", "sessionIds": ["`+a+`", "`+b+`"]}`)
	w := waited.(*control.Waited)
	if err != nil || w.Running != 1 || len(w.Results) != 1 || w.Results[0].Text != "seen </task_result> and more" || !strings.Contains(w.Answer(), "seen &lt;/task_result> and more") {
		t.Fatalf("waited for any: %+v, %v", waited, err)
	}
	done := w.Results[0].SessionID
	for offset, want := range map[string]string{"0": "seen <", "5": "</task", "24": "more"} {
		answer, err := e.do(t, mine, "task_result", `{"sessionId": "`+done+`", "limit": 6, "offset": `+offset+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if p := answer.(*control.Page); p.Text != want || p.Total != 28 || (p.NextOffset == 0) != (offset == "24") {
			t.Errorf("offset %s: %+v, want %q", offset, p, want)
		}
	}
	transcript, err := e.do(t, mine, "task_result", `{"sessionId": "`+done+`", "transcript": true}`)
	if err != nil || !strings.Contains(transcript.(*control.Page).Text, "> look") {
		t.Errorf("transcript %+v, %v", transcript, err)
	}

	other, err := e.OpenCaller(t.Context(), "other", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	theirs := scopeOf(other.ID())
	for _, name := range []string{"task_wait", "task_stop", "task_result", "task_send", "task_background"} {
		args := `{"sessionId": "` + a + `"}`
		if name == "task_send" {
			args = `{"sessionId": "` + a + `", "message": "x"}`
		}
		if _, err := e.do(t, theirs, name, args); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%s of another caller's: %v, want it not found", name, err)
		}
	}
	for _, name := range []string{"task_list", "task_wait", "task_stop"} {
		answer, err := e.do(t, theirs, name, "")
		if err != nil || strings.Contains(answer.Answer(), "ses_") {
			t.Errorf("%s of another caller: %+v, %v", name, answer, err)
		}
	}

	stopped, err := e.do(t, mine, "task_stop", `{}`)
	if s := stopped.(*control.Stopped); err != nil || len(s.Sessions) != 1 || s.Sessions[0].Status != record.Cancelled {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	stopped, err = e.do(t, mine, "task_stop", `{"sessionIds": ["`+a+`", "`+b+`", "`+a+`"]}`)
	if s := stopped.(*control.Stopped); err != nil || len(s.Sessions) != 2 {
		t.Errorf("stopped again: %+v, %v, want both, as they have ended", stopped, err)
	}
	<-first.Done()
	<-second.Done()
}

// TestControlArguments: what the operations refuse, and why.
func TestControlArguments(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, nil)
	id := e.Call(t.Context(), e.root, look).SessionID
	for _, tt := range []struct{ op, args, want string }{
		{"task_list", `{"offset": -1}`, "the arguments of task_list: offset -1"},
		{"task_list", `[]`, "not a JSON object"},
		{"task_wait", `{"session": "x"}`, `unknown key "session"`},
		{"task_wait", `{"until": "one"}`, `until "one" is neither`},
		{"task_wait", `{"timeoutSeconds": -1}`, "timeoutSeconds -1"},
		{"task_wait", `{"timeoutSeconds": 1e300}`, "timeoutSeconds"},
		{"task_wait", `{"sessionIds": [""]}`, "an empty id"},
		{"task_wait", `{"sessionId": "` + id[:8] + `"}`, "no such session"},
		{"task_wait", `{"sessionIds": ["` + strings.Repeat(`x", "`, 1000) + `x"]}`, "1001 ids"},
		{"task_send", `{"sessionId": "` + id + `"}`, "message is missing, and so are objective and role"},
		{"task_send", `{"sessionId": "` + id + `", "role": "` + strings.Repeat("x", 257) + `"}`, "role has 257 bytes"},
		{"task_result", `{}`, "sessionId is missing"},
		{"task_result", `{"sessionId": "` + id + `", "offset": 1}`, "offset 1 is not within 0 and 0"},
		{"task_result", `{"sessionId": "` + id + `", "limit": -1}`, "limit -1"},
		{"task_send", `{"sessionId": "` + id + `"}`, "message is missing"},
		{"task_send", `{"message": "x"}`, "sessionId is missing"},
		{"task_send", `{"sessionId": "` + id + `", "message": "` + strings.Repeat("x", control.MaxMessage+1) + `"}`, "262145 bytes"},
		{"task_send", `{"sessionId": "` + id + `", "message": "x"}`, "does not run: it is completed since"},
		{"task_send", `{"sessionId": "` + id + `", "message": "x", "idempotencyKey": "never sent"}`, "does not run: it is completed since"},
		{"task_send", `{"sessionId": "` + id + `", "message": "x", "idempotencyKey": "` + strings.Repeat("x", 257) + `"}`, "257 bytes"},
		{"task_send", `{"sessionId": "` + e.root.ID() + `", "message": "x"}`, "stands for a caller"},
		{"task_result", `{"sessionId": "` + e.root.ID() + `"}`, "no such session"},
	} {
		if _, err := e.do(t, scopeOf(""), tt.op, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.60s: %v, want %q", tt.op, tt.args, err, tt.want)
		}
	}
}

// TestControlTools: a session that may call task is offered the operations, and
// their calls are judged by the rules of task; a leaf is offered none.
func TestControlTools(t *testing.T) {
	names := func(req *model.Request) (found []string) {
		for _, spec := range req.Tools {
			if strings.HasPrefix(spec.Name, "task") {
				found = append(found, spec.Name)
			}
		}
		return found
	}
	var parent, leaf []string
	var results []model.ToolResult
	other := ""
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, n := prompt(req)
		if text != "lead" {
			leaf = names(req)
			return answer("found")(ctx, req, yield)
		}
		call := func(id, name, args string) bool {
			return yield(model.ToolCall{ID: id, Name: name, Arguments: args})
		}
		switch n {
		case 0:
			parent = names(req)
			_ = call("1", "task", `{"description":"d","prompt":"p","agentType":"explore"}`) && call("2", "task_list", `{}`) && yield(model.Stop{Reason: model.StopToolCalls})
		case 1:
			_ = call("3", "task_list", `{}`) && call("4", "task_wait", `{}`) && call("5", "task_result", `{"sessionId":"`+other+`"}`) && yield(model.Stop{Reason: model.StopToolCalls})
		default:
			results = req.Messages[4].ToolResults
			return answer("ok")(ctx, req, yield)
		}
		return nil
	})
	e := setup{
		model: m, limits: taskt.Limits{Depth: 2},
		files:  map[string]string{"lead.md": "---\ndescription: Leads.\ntools: [task]\n---\n"},
		static: static{{Tool: "*", Pattern: "*", Action: permission.Ask}, {Tool: "task", Pattern: "*", Action: permission.Allow}},
	}.open(t)
	other = e.Call(t.Context(), e.root, look).SessionID
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "lead", AgentType: "lead"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	if want := []string{"task", "task_list", "task_wait", "task_result", "task_send", "task_stop"}; !slices.Equal(parent, want) || leaf != nil {
		t.Errorf("offered %v to an agent that may call task, want %v; to a leaf %v", parent, want, leaf)
	}
	if len(results) != 3 || results[0].IsError || !strings.Contains(results[0].Text, "1 subagents:\n- explore, session ses_") || strings.Contains(results[0].Text, other) ||
		results[1].Text != "No subagent runs." || !results[2].IsError || !strings.Contains(results[2].Text, "no such session") {
		t.Errorf("results %+v", results)
	}
}
