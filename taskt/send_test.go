package taskt_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// TestSendOnce: of calls with one idempotency key a subagent gets one message, the
// first; also of one that is made after its end.
func TestSendOnce(t *testing.T) {
	let, begun := make(chan string), make(chan struct{}, 2)
	e := newEnv(t, modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		begun <- struct{}{}
		return held(let)(ctx, req, yield)
	}), taskt.Limits{}, nil)
	run := e.Start(t.Context(), e.root, look)
	<-begun
	id, mine := run.SessionID(), scopeOf(e.root.ID())
	send := func(message, key string) (*control.Sent, error) {
		answer, err := e.do(t, mine, "task_send", `{"sessionId": "`+id+`", "message": "`+message+`", "idempotencyKey": "`+key+`"}`)
		sent, _ := answer.(*control.Sent)
		return sent, err
	}
	first, err := send("first", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []struct{ message, key string }{{"first", "a"}, {"changed", "a"}, {"second", "b"}, {"second", "b"}} {
		sent, err := send(again.message, again.key)
		if err != nil || (sent.MessageID == first.MessageID) != (again.key == "a") {
			t.Errorf("%+v: %+v, %v", again, sent, err)
		}
	}
	let <- "seen"
	let <- "read"
	<-run.Done()
	if sent, err := send("first", "a"); err != nil || sent.MessageID != first.MessageID || sent.Status != record.Completed {
		t.Errorf("after the end: %+v, %v", sent, err)
	}
	if _, err := send("late", "c"); !errors.Is(err, record.ErrEnded) {
		t.Errorf("another key after the end: %v", err)
	}
	messages, err := e.sessions.Store().Transcripts.Messages(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		got = append(got, m.Text)
	}
	if want := []string{"look", "seen", "first", "second", "read"}; !slices.Equal(got, want) {
		t.Errorf("the conversation is %q, want %q", got, want)
	}
}
