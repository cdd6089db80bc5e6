package page

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
)

// startTalk begins a conversation with a primary agent.
func (p *Page) startTalk(w http.ResponseWriter, r *http.Request) {
	var in struct{ Agent, Prompt string }
	p.talk(w, r, &in, func(ctx context.Context) (string, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return "", errors.New("prompt is required")
		}
		return p.opts.Talks.Start(ctx, caller.IdentityOf(ctx).Person(), in.Agent, in.Prompt)
	})
}

// say goes on with one.
func (p *Page) say(w http.ResponseWriter, r *http.Request) {
	var in struct{ Message string }
	p.talk(w, r, &in, func(ctx context.Context) (string, error) {
		if strings.TrimSpace(in.Message) == "" {
			return "", errors.New("message is required")
		}
		return p.opts.Talks.Say(ctx, caller.IdentityOf(ctx).Person(), r.PathValue("id"), in.Message)
	})
}

// talk reads a request, and answers with the session that goes on.
func (p *Page) talk(w http.ResponseWriter, r *http.Request, in any, do func(context.Context) (id string, err error)) {
	err := read(w, r, in)
	if err == nil && p.opts.Talks == nil {
		err = caller.BadRequest(errors.New("this worker has no conversations"))
	}
	if err != nil {
		p.fail(w, err)
		return
	}
	id, err := do(r.Context())
	if err != nil {
		if !errors.Is(err, store.ErrNotFound) {
			err = caller.BadRequest(errors.New(errtext.Of(err)))
		}
		p.fail(w, err)
		return
	}
	p.answer(w, struct {
		SessionID string `json:"sessionId"`
	}{id})
}
