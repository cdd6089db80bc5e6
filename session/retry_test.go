package session_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// TestRetries: an answer that fails for a short time begins anew, wherever it broke off. No tool
// runs twice, no text is doubled, and what does not pass by itself fails at once.
func TestRetries(t *testing.T) {
	unavailable := &model.Error{Model: "m", Kind: model.ErrUnavailable, Message: "overloaded"}
	for name, tt := range map[string]struct {
		first []model.Part // before it fails
		err   error        // nil: the answer just ends
		heals bool
	}{
		"before anything":       {nil, unavailable, true},
		"in the text":           {[]model.Part{model.TextDelta{Text: "half "}}, unavailable, true},
		"behind a whole call":   {[]model.Part{call("1", "count", "x")}, unavailable, true},
		"rate limited":          {nil, &model.Error{Model: "m", Kind: model.ErrRateLimited, Status: 429, Message: "slow down"}, true},
		"no stop reason":        {[]model.Part{model.TextDelta{Text: "half "}}, nil, true},
		"a wrong key":           {nil, &model.Error{Model: "m", Kind: model.ErrAuth, Status: 401, Message: "no"}, false},
		"a wrong request":       {nil, &model.Error{Model: "m", Kind: model.ErrInvalid, Status: 400, Message: "no"}, false},
		"what can't be read":    {nil, &model.Error{Model: "m", Kind: model.ErrProtocol, Message: "no"}, false},
		"no error of a model's": {nil, context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran, asked := 0, 0
			count := &fakeTool{"count", func(context.Context, *tool.Call) (tool.Result, error) {
				ran++
				return tool.Result{Text: "ok"}, nil
			}}
			failing := func(answer func(context.Context, *model.Request, func(model.Part, error) bool)) func(context.Context, *model.Request, func(model.Part, error) bool) {
				failed := false
				return func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
					if asked++; failed {
						answer(ctx, req, yield)
						return
					}
					failed = true
					for _, p := range tt.first {
						yield(p, nil)
					}
					if tt.err != nil {
						yield(nil, tt.err)
					}
				}
			}
			e := newEnv(t, turns{failing(calls(call("2", "count", "x"))), failing(say("done"))}, func(o *session.Options) { o.Limits.Retries = 2 })
			s := e.open(session.Spec{Tools: []tool.Tool{count}})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if !tt.heals {
				if out.Status != record.Failed || asked != 1 {
					t.Errorf("asked %d times: %+v", asked, out)
				}
				return
			}
			if out.Text != "done" || ran != 1 || asked != 4 {
				t.Fatalf("asked %d times, %d calls ran: %+v", asked, ran, out)
			}
			shown, retries := make(map[string]string), 0 // what a client has of each message
			for _, ev := range e.events(s) {
				switch ev := ev.(type) {
				case event.ContentDelta:
					shown[ev.MessageID] += ev.Delta
				case event.ModelRetry:
					delete(shown, ev.MessageID)
					if retries++; ev.Try != 2 || ev.Tries != 3 {
						t.Errorf("retry %+v", ev)
					}
				}
			}
			text := ""
			for _, part := range shown {
				text += part
			}
			if text != "done" || retries != 2 {
				t.Errorf("%d retries are told of, and clients show %q", retries, text)
			}
			messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
			if err != nil || len(messages) != 4 || messages[3].Text != "done" {
				t.Errorf("%d messages are stored, %v: %+v", len(messages), err, messages)
			}
		})
	}
}

// TestRetriesEnd: an outage that lasts ends the session with the provider's words.
func TestRetriesEnd(t *testing.T) {
	asked := 0
	e := newEnv(t, turns{func(_ context.Context, _ *model.Request, yield func(model.Part, error) bool) {
		asked++
		yield(nil, &model.Error{Model: "m", Kind: model.ErrUnavailable, Status: 503, Message: "down"})
	}}, func(o *session.Options) { o.Limits.Retries = 1 })
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if asked != 2 || out.Err == nil || out.Err.Error() != "m: down (HTTP 503)" {
		t.Errorf("asked %d times: %v", asked, out.Err)
	}
}

// TestLimitsOfModel: a provider's own limit of silence counts for its models.
func TestLimitsOfModel(t *testing.T) {
	e := newEnv(t, turns{func(ctx context.Context, _ *model.Request, _ func(model.Part, error) bool) { <-ctx.Done() }}, func(o *session.Options) {
		o.Limits.Retries = -1
		o.Limits.Of = func(string) (silence, total time.Duration) { return 20 * time.Millisecond, 0 }
	})
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "nothing came of the answer for 20ms") {
		t.Errorf("it ends with %v", out.Err)
	}
}
