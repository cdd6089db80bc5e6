// Package notes has the tools by which a session notes what it has to do.
package notes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// Bounds of what a session notes for itself.
const (
	maxTodos     = 100
	maxTodoBytes = 500
	maxPlanBytes = 16 << 10
)

// Session takes what a session notes.
type Session interface {
	NoteTodo(todo event.Todo)
	NotePlan(plan event.Plan)
}

// Tools returns todo and plan. They only change notes, so nobody is asked about
// them, but rules may deny them. live returns a running session.
func Tools(live func(sessionID string) (Session, bool)) []tool.Tool {
	return []tool.Tool{
		&noteTool[event.Todo]{
			live: live, name: "todo",
			description: "Keeps your list of what is to be done, for work of several steps. Each call gives the whole list anew: " +
				"set an item to in_progress before you begin it, and to done once it is. Who called you sees it.",
			schema: fmt.Appendf(nil, `{"type":"object","properties":{"items":{"type":"array","maxItems":%d,"items":{"type":"object",`+
				`"properties":{"text":{"type":"string","minLength":1,"maxLength":%d},"status":{"type":"string","enum":["pending","in_progress","done"]}},`+
				`"required":["text","status"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`, maxTodos, maxTodoBytes),
			check: checkTodo, note: noteTodo,
		},
		&noteTool[event.Plan]{
			live: live, name: "plan",
			description: "Keeps your plan: how you go about the task, in Markdown. Each call gives the whole plan anew. Who called you sees it.",
			schema:      json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}`),
			check:       checkPlan, note: notePlan,
		},
	}
}

// noteTool is a tool whose arguments are the event that it publishes.
type noteTool[E event.Event] struct {
	live              func(sessionID string) (Session, bool)
	name, description string
	schema            json.RawMessage
	check             func(E) error
	note              func(Session, E) string
}

// Spec implements [tool.Tool].
func (t *noteTool[E]) Spec() tool.Spec {
	return tool.Spec{Name: t.name, Description: t.description, InputSchema: t.schema, ReadOnly: true, OwnTimeLimit: true, Follows: t.name}
}

func (t *noteTool[E]) read(args json.RawMessage) (ev E, err error) {
	if err = strictjson.Decode(args, &ev); err == nil {
		err = t.check(ev)
	}
	return ev, err
}

// Values implements [tool.Tool].
func (t *noteTool[E]) Values(args json.RawMessage) ([]permission.Value, error) {
	_, err := t.read(args)
	return []permission.Value{{Tool: t.name, Text: t.name}}, err
}

// Describe implements [tool.Tool].
func (t *noteTool[E]) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("note its "+t.name, call.Args)
}

// Run implements [tool.Tool].
func (t *noteTool[E]) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	ev, err := t.read(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	s, ok := t.live(call.SessionID)
	if !ok {
		return tool.Result{}, fmt.Errorf("session %s does not run here", call.SessionID)
	}
	return tool.Result{Text: t.note(s, ev)}, nil
}

func checkTodo(todo event.Todo) error {
	if len(todo.Items) > maxTodos {
		return fmt.Errorf("%d items: there may be %d", len(todo.Items), maxTodos)
	}
	for i, item := range todo.Items {
		switch {
		case strings.TrimSpace(item.Text) == "":
			return fmt.Errorf("item %d has no text", i+1)
		case len(item.Text) > maxTodoBytes:
			return fmt.Errorf("item %d has %d bytes: it may have %d", i+1, len(item.Text), maxTodoBytes)
		case item.Status != event.TodoPending && item.Status != event.TodoInProgress && item.Status != event.TodoDone:
			return fmt.Errorf("item %d has the status %q: use pending, in_progress or done", i+1, termtext.CutBytes(item.Status, 40))
		}
	}
	return nil
}

func checkPlan(plan event.Plan) error {
	switch {
	case strings.TrimSpace(plan.Text) == "":
		return errors.New("text is empty")
	case len(plan.Text) > maxPlanBytes:
		return fmt.Errorf("text has %d bytes: it may have %d", len(plan.Text), maxPlanBytes)
	}
	return nil
}

// Noted is what a session has noted. It is safe for concurrent use.
type Noted struct {
	mu   sync.Mutex
	plan event.Plan
	todo event.Todo
}

// SetPlan replaces the plan.
func (n *Noted) SetPlan(plan event.Plan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.plan = plan
}

// SetTodo replaces the list of todos.
func (n *Noted) SetTodo(todo event.Todo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.todo = todo
}

// Text is what is noted, as a model reads it. Empty means nothing.
func (n *Noted) Text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	plan, todo := n.plan, n.todo
	var b strings.Builder
	if plan.Text != "" {
		fmt.Fprintf(&b, "The plan:\n%s\n", strings.TrimSpace(plan.Text))
	}
	if len(todo.Items) > 0 {
		b.WriteString("What is to be done:\n")
	}
	marks := map[string]string{event.TodoPending: " ", event.TodoInProgress: ">", event.TodoDone: "x"}
	for _, item := range todo.Items {
		fmt.Fprintf(&b, "- [%s] %s\n", marks[item.Status], termtext.OneLine(item.Text, maxTodoBytes))
	}
	return b.String()
}

func noteTodo(s Session, todo event.Todo) string {
	s.NoteTodo(todo)
	if progress := record.ProgressOf(todo); progress != nil {
		return "Noted: " + progress.String()
	}
	return "The list is empty now."
}

func notePlan(s Session, plan event.Plan) string {
	s.NotePlan(plan)
	return "Noted."
}
