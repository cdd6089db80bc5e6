package taskt_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// child returns the id of the subagent of a prompt, which is its description, too.
func (e *env) child(t *testing.T, description string) string {
	t.Helper()
	records, err := e.sessions.Store().Index.List(t.Context())
	i := slices.IndexFunc(records, func(r *record.Record) bool { return r.Description == description })
	if err != nil || i < 0 {
		t.Fatalf("no session of %q among %d, %v", description, len(records), err)
	}
	return records[i].ID
}

// move moves a subagent to the background.
func (e *env) move(t *testing.T, id string) {
	t.Helper()
	answer, err := e.do(t, scopeOf(""), "task_background", `{"sessionId": "`+id+`"}`)
	if moved, ok := answer.(*control.Moved); err != nil || !ok || moved.SessionID != id || moved.Status.Ended() {
		t.Fatalf("moving %s: %+v, %v", id, answer, err)
	}
}

// waitingFor makes a turn of task calls that wait, with these prompts.
func waitingFor(yield func(model.Part) bool, prompts ...string) {
	for _, p := range prompts {
		yield(model.ToolCall{ID: "call-" + p, Name: "task", Arguments: `{"description":"` + p + `","prompt":"` + p + `","agentType":"explore"}`})
	}
	yield(model.Stop{Reason: model.StopToolCalls})
}

// TestMoveToBackground: of two subagents that a model waits for one is moved to the
// background. Its call returns, what interrupts the other one does not end it, and its
// end comes once, as a message.
func TestMoveToBackground(t *testing.T) {
	begun, let := make(chan string, 2), make(chan string)
	var conversation []model.Message
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, n := prompt(req)
		switch {
		case text != "lead":
			begun <- text
			return held(let)(ctx, req, yield)
		case n == 0:
			waitingFor(yield, "one", "two")
			return nil
		case n == 1 && !strings.Contains(spoken(req.Messages), "seen one"): // its end may have come first
			return answer("I wait.")(ctx, req, yield)
		}
		conversation = req.Messages
		return answer("done")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, leadFile)
	lead := e.lead(t)
	over := make(chan error, 1)
	go func() {
		out := lead.Prompt(t.Context(), "lead")
		over <- errors.Join(out.Err, lead.End(out.Status, out.Err))
	}()
	<-begun
	<-begun
	one := e.child(t, "one")
	e.move(t, one)
	e.move(t, one) // it is there already
	if _, err := e.do(t, scopeOf(""), "task_send", `{"sessionId": "`+lead.ID()+`", "message": "leave two", "interrupt": true}`); err != nil {
		t.Fatal(err)
	}
	if _, err := e.do(t, scopeOf(""), "task_wait", `{"sessionId": "`+e.child(t, "two")+`"}`); err != nil {
		t.Fatal(err)
	}
	let <- "seen one"
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	results := conversation[2].ToolResults
	if want := "<task_accepted agent=\"explore\">\n{\"status\": \"accepted\", \"sessionId\": \"" + one + "\"}\nThe user has moved it to the background"; results[0].IsError || !strings.HasPrefix(results[0].Text, want) {
		t.Errorf("the call returned %q", results[0].Text)
	}
	if !results[1].IsError || !strings.Contains(results[1].Text, "interrupted by a message") {
		t.Errorf("the other call returned %q", results[1].Text)
	}
	told := 0
	for _, m := range conversation {
		told += strings.Count(m.Text, "seen one")
	}
	if told != 1 {
		t.Errorf("the end was told %d times: %+v", told, conversation)
	}
	r := recordOf(t, e, one)
	state, err := e.sessions.Store().Index.State(t.Context(), r.Path)
	if err != nil || !r.Background || !state.Record.Background || r.Status != record.Completed {
		t.Errorf("record %+v, %v", r, err)
	}
	by := ""
	for _, d := range e.stream(t, r.Path) {
		if ev, err := event.Decode(d.Raw); err == nil {
			if moved, ok := ev.(event.MovedToBackground); ok {
				by += moved.By
			}
		}
	}
	if by != "alice" {
		t.Errorf("moved by %q", by)
	}
}

// TestMoveStops: the stop of a caller ends what was moved to its background.
func TestMoveStops(t *testing.T) {
	begun, let := make(chan string, 1), make(chan string)
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		switch text, n := prompt(req); {
		case text != "lead":
			begun <- text
			return held(let)(ctx, req, yield)
		case n == 0:
			waitingFor(yield, "one")
			return nil
		}
		return answer("I wait.")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, leadFile)
	lead := e.lead(t)
	over := make(chan error, 1)
	go func() {
		out := lead.Prompt(t.Context(), "lead")
		over <- lead.End(out.Status, out.Err)
	}()
	<-begun
	one := e.child(t, "one")
	e.move(t, one)
	if _, err := e.stop(t, scopeOf(""), lead.ID()); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if r := recordOf(t, e, one); r.Status != record.Cancelled || !r.Closed {
		t.Errorf("%s is %s", one, r.Status)
	}
}

// TestMoveHost: the caller of a run that waits gets its answer at once; and what can't
// be moved, and why.
func TestMoveHost(t *testing.T) {
	let := make(chan string)
	e := newEnv(t, held(let), taskt.Limits{PerParent: 1}, nil)
	run := e.Start(t.Context(), e.root, look)
	queued := e.Start(t.Context(), e.root, look) // one of them waits for its turn, and goes on to
	if run.Accepted() != nil {
		t.Error("accepted before it was moved")
	}
	e.move(t, run.SessionID())
	e.move(t, queued.SessionID())
	<-run.Moved()
	<-queued.Moved()
	if a := run.Accepted(); a == nil || a.Status != control.Accepted || !strings.Contains(a.Text, "The user has moved it") || !strings.HasSuffix(a.Text, "task_result has its answer then.") {
		t.Errorf("accepted %+v", a)
	}
	for range 2 { // either may have the one slot first
		let <- "seen"
	}
	for _, run := range []*taskt.Run{run, queued} {
		<-run.Done()
		if r := run.Result(); r.Text != "seen" || r.Err != nil {
			t.Errorf("result %+v", r)
		}
	}
	over := make(chan *taskt.Result, 1)
	go func() {
		over <- e.Call(t.Context(), e.root, taskt.Input{Description: "stays", Prompt: "x", AgentType: "explore"})
	}()
	let <- "stayed"
	stayed := <-over
	for id, want := range map[string]string{
		stayed.SessionID: "does not run",
		e.root.ID():      "no call of task waits for it",
		"ses_none":       "no such session",
	} {
		if _, err := e.do(t, scopeOf(""), "task_background", `{"sessionId": "`+id+`"}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	e.toldEnds(t, 2)
}
