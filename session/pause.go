package session

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/store"
)

// callModel asks the model for the next message. A provider that is to be asked again
// later pauses the session until then, and all others of the process on that account.
func (t *Turn) callModel(step context.Context, a *answer) error {
	s := t.s
	var paused time.Duration
	for {
		for {
			found, closed := s.m.models.Paused(s.model)
			if !closed {
				break
			}
			wait := time.Until(found.Until)
			if paused += wait; paused > s.m.limits.Pause {
				return fmt.Errorf("%s (a pause of more than %s is not waited for: --max-pause)", found.Why, errtext.Duration(s.m.limits.Pause))
			}
			if err := t.pause(step, wait+models.Jitter(wait), found.Why); err != nil {
				return err
			}
		}
		err := t.callOnce(step, a)
		wait := models.PauseFor(err)
		if wait == 0 || wait > s.m.limits.Pause-paused || step.Err() != nil {
			return err
		}
		s.m.models.Pause(s.model, models.Pause{Until: time.Now().Add(wait), Why: errtext.Of(err)})
	}
}

// pause has the session wait. Meanwhile its time stands still.
func (t *Turn) pause(step context.Context, wait time.Duration, why string) error {
	s := t.s
	defer s.HoldTime()()
	until := time.Now().Add(wait).UTC()
	s.setPause(&store.Pause{Until: until, Reason: why})
	s.publish(event.StatusChange{Status: event.StatusPaused, Pause: &event.Pause{Until: until, Reason: why}})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-step.Done():
		err = context.Cause(step)
	}
	s.setPause(nil)
	s.publish(event.StatusChange{Status: event.StatusStreaming})
	return err
}

func (s *Session) setPause(p *store.Pause) {
	s.note(s.change(func(r *store.Record) error {
		r.Pause = p
		return nil
	}))
}
