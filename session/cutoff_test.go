package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
)

// TestCutOff: the text of an answer that was cut off stays in the conversation, in memory and
// in the store.
func TestCutOff(t *testing.T) {
	const want = `[user "first" assistant "half of it\n\n[The answer was cut off here.]" user "go on" assistant "the rest"]`
	for name, cut := range map[string]func(context.Context, context.CancelFunc, func(model.Part, error) bool){
		"cancelled": func(ctx context.Context, cancel context.CancelFunc, yield func(model.Part, error) bool) {
			cancel()
			hang(ctx, nil, yield)
		},
		"an error": func(_ context.Context, _ context.CancelFunc, yield func(model.Part, error) bool) {
			yield(nil, &model.Error{Model: "m", Kind: model.ErrInvalid, Message: "broken"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			said := ""
			e := newEnv(t, turns{
				func(ctx context.Context, _ *model.Request, yield func(model.Part, error) bool) {
					yield(model.TextDelta{Text: "half of it"}, nil)
					cut(ctx, cancel, yield)
				},
				func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
					said = shown(req.Messages)
					say("the rest")(ctx, req, yield)
				},
			}, nil)
			s := e.open(session.Spec{})
			if out := s.Prompt(ctx, "first"); out.Err == nil || out.Partial != "half of it" {
				t.Fatalf("outcome %+v", out)
			}
			out := s.Prompt(t.Context(), "go on")
			e.end(s, out)
			if out.Err != nil || said+` assistant "the rest"]` != want {
				t.Errorf("the model was sent %s, and %+v", said, out)
			}
			messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
			if err != nil {
				t.Fatal(err)
			}
			var stored []model.Message
			for _, m := range messages {
				stored = append(stored, m.Message)
			}
			if got := shown(stored) + "]"; got != want {
				t.Errorf("stored %s", got)
			}
		})
	}
}

func shown(messages []model.Message) string {
	text := "["
	for i, m := range messages {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%s %q", m.Role, m.Text)
	}
	return text
}
