package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/tool"
)

// resume has a session go on below the caller's, and returns the result.
func (e *env) resume(t *testing.T, id, message string) *taskt.Result {
	t.Helper()
	r, err := e.sessions.Store().Index.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	run := e.Resume(t.Context(), e.root, control.Resumption{Record: r, Prompt: message})
	<-run.Done()
	return run.Result()
}

// spoken is a conversation, a line a message.
func spoken(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Text)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " call %s", c.Name)
		}
		for _, r := range m.ToolResults {
			fmt.Fprintf(&b, " result %s", r.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestResume: a session that has ended is resumed with its conversation, once for each of its
// runs. Any of the ids finds the last one.
func TestResume(t *testing.T) {
	var said []string
	e := newEnv(t, modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		said = append(said, spoken(req.Messages))
		return answer(fmt.Sprintf("answer %d", len(said)))(ctx, req, yield)
	}), taskt.Limits{}, nil)
	first := e.Call(t.Context(), e.root, look)
	second := e.resume(t, first.SessionID, "and now?")
	if second.SessionID != first.SessionID+"-2" || second.Text != "answer 2" || second.Record.Resumes != first.SessionID || !slices.Equal(second.Record.AskedBy, []record.Person{record.Owner}) {
		t.Fatalf("the second run %+v", second)
	}
	third := e.resume(t, second.SessionID, "and then?")
	if want := "user: look\nassistant: answer 1\nuser: and now?\nassistant: answer 2\nuser: and then?\n"; third.Err != nil || said[2] != want {
		t.Errorf("the third run %+v was sent\n%s\nwant\n%s", third, said[2], want)
	}
	messages, err := e.sessions.Store().Transcripts.Messages(t.Context(), third.SessionID)
	if err != nil || len(messages) != 6 || messages[0].Text != "look" || messages[5].Text != "answer 3" {
		t.Errorf("stored: %d messages, %v", len(messages), err)
	}
	if again := e.resume(t, first.SessionID, "me too"); !errors.Is(again.Err, record.ErrResumed) {
		t.Errorf("resumed twice: %+v", again)
	}
	for _, id := range []string{first.SessionID, second.SessionID, third.SessionID} {
		got, err := e.do(t, scopeOf(e.root.ID()), "task_result", `{"sessionId": "`+id+`"}`)
		if err != nil || got.(*control.Page).Text != "answer 3" {
			t.Errorf("the result of %s: %+v, %v", id, got, err)
		}
	}
	if r, err := e.sessions.Store().Index.Get(t.Context(), first.SessionID[:12]); err != nil || r.ID != third.SessionID {
		t.Errorf("by the start of its id: %+v, %v", r, err)
	}
}

// TestResumeRefused: only the session of a subagent that is stored can be resumed.
func TestResumeRefused(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{"gone.md": "---\ndescription: Goes.\n---\n"})
	if res := e.resume(t, e.root.ID(), "go on"); res.Err == nil || !strings.Contains(res.Text, "is no subagent's") {
		t.Errorf("a caller's session: %+v", res)
	}
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "x", AgentType: "gone"})
	other := setup{model: answer("x")}.open(t)
	r := res.Record
	run := other.Resume(t.Context(), other.root, control.Resumption{Record: &r, Prompt: "go on"})
	<-run.Done()
	if run.Result().Err == nil || !strings.Contains(run.Result().Text, "the log is missing") {
		t.Errorf("of another workspace: %+v", run.Result())
	}
}

// plain is a tool whose value is its argument "v".
type plain string

func (n plain) Spec() tool.Spec {
	return tool.Spec{Name: string(n), Description: "a tool", InputSchema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}
}

func (plain) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call it", call.Args)
}

func (n plain) Values(args json.RawMessage) ([]permission.Value, error) {
	var in struct{ V string }
	err := json.Unmarshal(args, &in)
	return []permission.Value{{Tool: string(n), Text: in.V}}, err
}

func (n plain) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Text: "ran " + string(n)}, nil
}

// TestResumeNarrows: neither a wider definition nor another caller gives the next run
// of a session what the first was denied.
func TestResumeNarrows(t *testing.T) {
	var results []model.ToolResult
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Text == "lead":
			yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"leaf","agentType":"leaf"}`})
		case last.Text == "resume":
			for _, call := range []string{"a secret", "b x", "c x", "a x"} {
				name, v, _ := strings.Cut(call, " ")
				yield(model.ToolCall{ID: call, Name: name, Arguments: `{"v":"` + v + `"}`})
			}
		default:
			results = last.ToolResults
			return answer("done")(ctx, req, yield)
		}
		yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	})
	e := setup{model: m, limits: taskt.Limits{Depth: 2}, tools: []tool.Tool{plain("a"), plain("b"), plain("c")}, files: map[string]string{
		"lead.md": "---\ndescription: Leads.\npermission:\n  \"*\": allow\n  b: deny\n---\n",
		"leaf.md": "---\ndescription: A leaf.\npermission:\n  \"*\": allow\n  a: {\"*\": allow, \"secret\": deny}\n---\n",
	}}.open(t)
	if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "lead", AgentType: "lead"}); res.Err != nil {
		t.Fatal(res.Err)
	}
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil || records[0].Agent != "leaf" {
		t.Fatal(err, records[0])
	}
	e.write(t, "leaf.md", "---\ndescription: A leaf.\npermission:\n  \"*\": allow\n  c: deny\n---\n")
	for c := range e.registry.Changes(t.Context()) {
		if def, ok := c.Snapshot.Agent("leaf"); ok && def.Permission.DeniesAll("c") {
			break
		}
	}
	if res := e.resume(t, records[0].ID, "resume"); res.Err != nil || res.SessionID != records[0].ID+"-2" {
		t.Fatalf("%+v", res)
	}
	for i, denied := range []bool{true, true, true, false} {
		if len(results) != 4 || results[i].IsError != denied {
			t.Fatalf("call %d: %+v, want that it is denied: %t", i, results, denied)
		}
	}
}

// TestResumeByModel: a message resumes an ended subagent in the background, and its caller
// reads of that end too.
func TestResumeByModel(t *testing.T) {
	var conversation []model.Message
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, n := prompt(req)
		switch {
		case text != "lead":
			return answer(fmt.Sprintf("answer %d", n+1))(ctx, req, yield)
		case n == 0:
			yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"one","agentType":"explore"}`})
		case n == 1:
			yield(model.ToolCall{ID: "2", Name: "task_list", Arguments: `{}`})
		case n == 2:
			_, rest, _ := strings.Cut(req.Messages[4].ToolResults[0].Text, "session ")
			id, _, _ := strings.Cut(rest, " ")
			yield(model.ToolCall{ID: "3", Name: "task_send", Arguments: `{"sessionId":"` + id + `","message":"more"}`})
		default:
			conversation = req.Messages
			return answer("done")(ctx, req, yield)
		}
		yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	})
	e := newEnv(t, m, taskt.Limits{}, leadFile)
	e.runLead(t, "done")
	text := spoken(conversation)
	if !strings.Contains(text, "had ended, and goes on in session ses_") || strings.Count(text, "answer 2") != 1 || strings.Count(text, "answer 1") != 1 {
		t.Errorf("the conversation:\n%s", text)
	}
}

// TestResumeFork: what a subagent went on from of its caller's conversation is in that
// of its next run.
func TestResumeFork(t *testing.T) {
	var said string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Text == "lead":
			yield(model.ToolCall{ID: "1", Name: "task", Arguments: `{"description":"d","prompt":"one","agentType":"explore","forkContext":"all"}`})
			yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		case last.Text == "more":
			said = spoken(req.Messages)
		}
		return answer("seen")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, leadFile)
	e.runLead(t, "seen")
	records, err := e.sessions.Store().Index.List(t.Context())
	if err != nil || records[0].Fork == 0 {
		t.Fatal(err, records[0])
	}
	res := e.resume(t, records[0].ID, "more")
	if res.Err != nil || !strings.HasPrefix(said, "user: lead\nuser: What stands above") || !strings.HasSuffix(said, "one\nassistant: seen\nuser: more\n") {
		t.Errorf("%+v was sent\n%s", res, said)
	}
}
