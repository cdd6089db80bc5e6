package session

import (
	"context"
	"errors"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
)

// requested answers the requests about sessions that run in this process.
type requested struct{ m *Manager }

// Stop implements [requests.Sessions].
func (r requested) Stop(ctx context.Context, req store.StopRequest) error {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return nil
	}
	return s.stop(ctx, &StoppedError{By: req.By})
}

// Send implements [requests.Sessions].
func (r requested) Send(req store.SendRequest) store.RequestAnswer {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return store.RequestAnswer{}
	}
	err := s.Send(req)
	return store.RequestAnswer{Taken: err == nil, Concludes: errors.Is(err, store.ErrConcludes)}
}

// MoveToBackground implements [requests.Sessions].
func (r requested) MoveToBackground(req store.BackgroundRequest) (answer store.RequestAnswer) {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return answer
	}
	err := s.MoveToBackground(req.By)
	if answer.Taken = err == nil; err != nil && !errors.Is(err, ErrNotWaiting) && !errors.Is(err, store.ErrEnded) {
		answer.Refused = errtext.Of(err)
	}
	return answer
}
