package session_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// TestTodoAndPlan (row D17): what a session notes for itself is on its stream, in its
// record, and in the state that a fork of it reads. Nobody is asked about it.
func TestTodoAndPlan(t *testing.T) {
	note := func(id int, name, args string) model.ToolCall {
		return model.ToolCall{ID: fmt.Sprint(id), Name: name, Arguments: args}
	}
	m := turns{
		calls(note(1, "todo", `{"items":[{"text":"one","status":"done"},{"text":"two\u001b[2J\nx","status":"pending"},{"text":"three","status":"in_progress"}]}`)),
		calls(note(2, "plan", `{"text":"# First\nthen"}`)),
		calls(
			note(3, "todo", `{"items":[{"text":"","status":"done"}]}`), note(4, "todo", `{"items":[{"text":"x","status":"doing"}]}`),
			note(5, "todo", `{"items":[{"text":"`+strings.Repeat("x", 501)+`","status":"done"}]}`), note(6, "plan", `{"text":" "}`),
			note(7, "plan", `{"text":"`+strings.Repeat("x", 17<<10)+`"}`), note(8, "todo", `{"items":[`+strings.Repeat(`{"text":"x","status":"done"},`, 100)+`{"text":"x","status":"done"}]}`),
		),
		say("done"),
	}
	e := newEnv(t, m, nil)
	e.static.rules = permission.MustRuleset() // no rule: ask
	s := e.open(session.Spec{Tools: e.Notes(), Rules: permission.MustRuleset()})
	out := s.Prompt(t.Context(), "go")
	state := s.StateText()
	e.end(s, out)
	if out.Status != record.Completed {
		t.Fatalf("%+v", out)
	}
	want := &record.Progress{Done: 1, Total: 3, Current: "three"}
	if r := e.record(s); !reflect.DeepEqual(r.Todo, want) || r.Todo.String() != "1/3 done: three" || r.Work.Failed != 6 || r.Work.Denied != 0 {
		t.Errorf("%+v %+v", r.Todo, r.Work)
	}
	log, err := e.Store().Index.State(t.Context(), s.Path())
	if err != nil || !reflect.DeepEqual(log.Record.Todo, want) {
		t.Errorf("the log says %+v, %v", log.Record.Todo, err)
	}
	if !strings.HasPrefix(state, "The plan:\n# First\nthen\nWhat is to be done:\n- [x] one\n- [ ] two") || !strings.HasSuffix(state, "x\n- [>] three\n") || strings.Contains(state, "\x1b") {
		t.Errorf("the state: %q", state)
	}
	n := 0
	for _, ev := range e.events(s) {
		switch ev.(type) {
		case event.Todo, event.Plan:
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	if p := record.ProgressOf(event.Todo{Items: []event.TodoItem{{Text: "a", Status: event.TodoDone}}}); p.String() != "1/1 done" {
		t.Errorf("all done: %s", p)
	}
}
