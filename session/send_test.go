package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/tool"
)

// message is a message to a session.
func message(s *session.Session, id string, interrupt bool) requests.SendRequest {
	return requests.SendRequest{SessionID: s.ID(), MessageID: id, Text: "text of " + id, Interrupt: interrupt}
}

// texts are the user's texts of a conversation.
func texts(messages []model.Message) string {
	var all []string
	for _, m := range messages {
		if m.Role == model.User && m.Text != "" {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, ", ")
}

// told are the same messages in the stored conversation.
func (e *env) told(s *session.Session) string {
	e.t.Helper()
	messages, err := e.Store().Transcripts.Messages(e.t.Context(), s.ID())
	if err != nil {
		e.t.Fatal(err)
	}
	var all []model.Message
	for _, m := range messages {
		all = append(all, m.Message)
	}
	return texts(all)
}

// TestSend: a message is read before the next step, once; one that comes when the
// model has concluded is refused.
func TestSend(t *testing.T) {
	var s *session.Session
	var e *env
	send := func(id string) {
		if _, err := e.Store().Requests.Send(t.Context(), message(s, id, false)); err != nil {
			t.Error(err)
		}
	}
	var seen string
	work := &fakeTool{"work", func(context.Context, *tool.Call) (tool.Result, error) {
		send("one")
		send("one")
		send("two")
		return tool.Result{Text: "done"}, nil
	}}
	e = newEnvOn(t, eventbus.Options{StoreDir: t.TempDir()}, turns{
		calls(call("1", "work", "x")),
		func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			seen = texts(req.Messages)
			send("three")
			say("I conclude.")(ctx, req, yield)
		},
		say("I conclude again."),
	}, nil)
	s = e.open(session.Spec{Tools: []tool.Tool{work}})
	out := s.Prompt(t.Context(), "go")
	if err := s.Send(message(s, "late", false)); !errors.Is(err, requests.ErrConcludes) {
		t.Errorf("a message behind the answer: %v", err)
	}
	if _, err := e.Store().Requests.Send(t.Context(), message(s, "late", false)); !errors.Is(err, requests.ErrConcludes) {
		t.Errorf("the same by the store: %v", err)
	}
	e.end(s, out)
	if want := "go, text of one, text of two"; seen != want || out.Text != "I conclude again." {
		t.Errorf("the model has read %q, want %q, and answered %q", seen, want, out.Text)
	}
	if got, want := e.told(s), "go, text of one, text of two, text of three"; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
	if err := s.Send(message(s, "late", false)); !errors.Is(err, record.ErrEnded) {
		t.Errorf("a message after the end: %v", err)
	}
	var ended *record.EndedError
	if _, err := e.Store().Requests.Send(t.Context(), message(s, "late", false)); !errors.As(err, &ended) {
		t.Errorf("the same by the store: %v", err)
	}
}

// TestSendInterrupts: an interrupting message ends the model call or the tool call that runs. The
// model reads it before older messages.
func TestSendInterrupts(t *testing.T) {
	var s *session.Session
	interrupt := func() {
		for _, m := range []requests.SendRequest{message(s, "dropped", false), message(s, "first", true), message(s, "second", false)} {
			if err := s.Send(m); err != nil {
				t.Error(err)
			}
		}
	}
	var cause error
	work := &fakeTool{"work", func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		interrupt()
		<-ctx.Done()
		cause = context.Cause(ctx)
		return tool.Result{}, ctx.Err()
	}}
	never := &fakeTool{"never", func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("a call was run that is behind the message")
		return tool.Result{}, nil
	}}
	interrupted := false
	for name, first := range map[string]func(context.Context, *model.Request, func(model.Part, error) bool){
		"a tool call": calls(call("1", "work", "x")),
		"a model call": func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			if yield(model.TextDelta{Text: "I was about to"}, nil); !interrupted {
				interrupted = true
				interrupt()
				hang(ctx, req, yield)
				return
			}
			say("seen: "+texts(req.Messages))(ctx, req, yield)
		},
		"an answer that is there": func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
			calls(call("1", "never", "x"))(ctx, req, yield)
			interrupt()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{first, func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
				say("seen: "+texts(req.Messages))(ctx, req, yield)
			}}, nil)
			s = e.open(session.Spec{Tools: []tool.Tool{work, never}})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if out.Err != nil || !strings.HasSuffix(out.Text, "seen: go, text of first, text of second") {
				t.Errorf("outcome %+v", out)
			}
			if got := e.told(s); got != "go, text of first, text of second" {
				t.Errorf("stored %q", got)
			}
		})
	}
	if cause == nil || !errors.As(cause, new(inbox.InterruptedError)) || !errors.Is(cause, context.Canceled) {
		t.Errorf("the cause of the tool's context is %v", cause)
	}
}

// TestSendUnread: what a session has taken and its model has not read is at the end
// of its conversation; the last step takes nothing; a caller's session has no model.
func TestSendUnread(t *testing.T) {
	var s *session.Session
	e := newEnv(t, turns{func(_ context.Context, _ *model.Request, yield func(model.Part, error) bool) {
		if err := s.Send(message(s, "unread", false)); err != nil {
			t.Error(err)
		}
		yield(nil, errors.New("the model is gone"))
	}}, nil)
	s = e.open(session.Spec{})
	e.end(s, s.Prompt(t.Context(), "go"))
	if got := e.told(s); got != "go, text of unread" {
		t.Errorf("stored %q", got)
	}
	caller, err := e.Open(t.Context(), session.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Send(message(caller, "x", false)); err == nil {
		t.Error("a caller's session took a message")
	}
	if err := caller.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}

	last := newEnv(t, turns{calls(call("1", "echo", "x")), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		if err := s.Send(message(s, "x", true)); !errors.Is(err, requests.ErrConcludes) {
			t.Errorf("a message in the last step: %v", err)
		}
		say("done")(ctx, req, yield)
	}}, nil)
	s = last.open(session.Spec{Tools: []tool.Tool{echo("echo")}, MaxSteps: 1})
	out := s.Prompt(t.Context(), "go")
	last.end(s, out)
	if out.Text != "done" {
		t.Errorf("outcome %+v", out)
	}
}
