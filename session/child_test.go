package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// taskCall is a task call that notes what its child tells it.
type taskCall struct {
	full  bool // no slot is free at once
	steps []string
	moved chan struct{}
}

func (c *taskCall) note(step string) { c.steps = append(c.steps, step) }

func (c *taskCall) Enter(ctx context.Context, wait bool) (bool, error) {
	if c.note("enter"); c.full && !wait {
		return false, nil
	}
	return ctx.Err() == nil, ctx.Err()
}

func (c *taskCall) Leave() { c.note("leave") }
func (c *taskCall) Moved() { c.note("moved"); close(c.moved) }

func (c *taskCall) Ending(_ context.Context, out *session.Outcome) {
	c.note("ending")
	out.Text += "!"
}

func (c *taskCall) Ended(_ context.Context, _ *session.Outcome, background bool) {
	if c.note("ended"); background {
		c.note("in the background")
	}
}

// TestChild: a child tells its call about its slot and its end, in order. The end of the call's
// context does not end a child in the background.
func TestChild(t *testing.T) {
	answer := make(chan struct{})
	held := turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		select {
		case <-answer:
			say("done")(ctx, req, yield)
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}}
	e := newEnv(t, held, nil)
	parent := e.open(session.Spec{Agent: ""})
	defer e.end(parent, session.Outcome{Status: record.Completed})
	open := func(task *taskCall) *session.Child {
		child, err := e.OpenChild(t.Context(), session.ChildSpec{Spec: session.Spec{Parent: parent, Agent: "agent"}, Prompt: "go"}, task)
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	expect := func(task *taskCall, out *session.Outcome, status record.Status, want string) {
		t.Helper()
		if got := strings.Join(task.steps, " "); got != want || out.Status != status {
			t.Errorf("%s (%v): %s, want %s", out.Status, out.Err, got, want)
		}
	}

	task := &taskCall{moved: make(chan struct{})}
	child := open(task)
	if err := child.MoveToBackground("test"); !errors.Is(err, session.ErrNotWaiting) {
		t.Errorf("moved before its call waits: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	child.Begin(ctx)
	over := make(chan *session.Outcome)
	go func() { over <- child.Run(ctx) }()
	for errors.Is(child.MoveToBackground("test"), session.ErrNotWaiting) {
	}
	<-task.moved
	cancel()
	close(answer)
	expect(task, <-over, record.Completed, "enter moved leave ending ended in the background")

	task = &taskCall{full: true}
	child = open(task)
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	child.Begin(ctx)
	expect(task, child.Run(ctx), record.Cancelled, "enter enter ending ended")

	task = &taskCall{}
	expect(task, open(task).Abandon(t.Context(), errors.New("nobody comes")), record.Cancelled, "ending ended")
}
