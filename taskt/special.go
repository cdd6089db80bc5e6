package taskt

import (
	"context"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/session"
)

// Entitle begins to give the session of a primary agent a title, if the agent title
// has a model of its own (alias small). wait returns when that is over; the session is
// ended behind it.
func (s *Service) Entitle(ctx context.Context, root *session.Session, prompt string) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := root.Entitle(ctx, helper(s.agents.Snapshot().Special(agentdefs.Title)), prompt); err != nil && ctx.Err() == nil {
			s.log.Warn("a session gets no title", "session", root.ID(), "err", err)
		}
	}()
	return func() { <-done }
}

// Summarise has the agent summary say what a session is about. Nothing of it is stored.
func (s *Service) Summarise(ctx context.Context, sessionID string) (*session.Summary, error) {
	return s.sessions.Summarise(ctx, helper(s.agents.Snapshot().Special(agentdefs.Summary)), sessionID)
}
