package page

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/record"
)

// talks has the conversations of people with primary agents.
type talks struct {
	answers
	desk Talks // nil means that this worker has none
}

// start begins a conversation.
func (t *talks) start(w http.ResponseWriter, r *http.Request) {
	var in struct{ Agent, Prompt string }
	t.serve(w, r, &in, func(ctx context.Context) (string, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return "", errors.New("prompt is required")
		}
		return t.desk.Start(ctx, caller.IdentityOf(ctx).Person(), in.Agent, in.Prompt)
	})
}

// say continues one.
func (t *talks) say(w http.ResponseWriter, r *http.Request) {
	var in struct{ Message string }
	t.serve(w, r, &in, func(ctx context.Context) (string, error) {
		if strings.TrimSpace(in.Message) == "" {
			return "", errors.New("message is required")
		}
		return t.desk.Say(ctx, caller.IdentityOf(ctx).Person(), r.PathValue("id"), in.Message)
	})
}

// serve reads a request, and answers with the session in which the conversation continues.
func (t *talks) serve(w http.ResponseWriter, r *http.Request, in any, do func(context.Context) (id string, err error)) {
	err := read(w, r, in)
	if err == nil && t.desk == nil {
		err = caller.BadRequest(errors.New("this worker has no conversations"))
	}
	var answer struct {
		SessionID string `json:"sessionId"`
	}
	if err == nil {
		answer.SessionID, err = do(r.Context())
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			err = caller.BadRequest(errors.New(errtext.Of(err)))
		}
	}
	t.answer(w, answer, err)
}
