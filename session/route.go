package session

import (
	"context"
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// Router picks the model of a session that names none. It is safe for concurrent use.
type Router interface {
	// Pick returns the name of the model for an agent's task. ask has a helper answer a
	// prompt, which counts as a model call of the session. An error leaves the session
	// with the model that it has.
	Pick(ctx context.Context, agent, task string, ask func(ctx context.Context, h *Helper, prompt string) (string, error)) (name string, err error)
}

// route has the session's router pick its model, before its first model call.
func (t *Turn) route() error {
	s := t.s
	router := s.router
	if router == nil {
		return nil
	}
	s.router = nil
	name, err := router.Pick(t.Context(), s.Agent(), t.prompt, s.askHelper)
	if t.Context().Err() != nil {
		return context.Cause(t.Context())
	}
	var picked model.Model
	if err == nil {
		picked, err = s.m.models.For(s.Agent(), name)
	}
	if err != nil {
		s.warn(fmt.Sprintf("no model was picked (%s): it is %s", errtext.Of(err), s.model.Name()))
		return s.brokenBy()
	}
	s.mu.Lock()
	s.model = picked
	s.mu.Unlock()
	s.append(store.ModelEntry(picked.Name()))
	s.publish(event.ModelPicked{Name: name, Model: picked.Name()})
	return s.change(func(r *store.Record) error {
		r.Model = picked.Name()
		return nil
	})
}
