package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// overloaded is the HTTP status of a server that has too much to do, as Anthropic's API
// sends it, and overloadedPause how long it is left alone where it names no time.
const (
	overloaded      = 529
	overloadedPause = 30 * time.Second
)

// pauseFor returns how long a provider wants to be left alone that has refused a call;
// 0 means it does not say.
func pauseFor(err error) time.Duration {
	refused, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok:
		return 0
	case refused.Status == http.StatusTooManyRequests, refused.Status == http.StatusServiceUnavailable:
		return refused.RetryAfter
	case refused.Status == overloaded:
		return cmp.Or(refused.RetryAfter, overloadedPause)
	}
	return 0
}

// gates say until when providers are to be left alone, for all sessions of a process
// that share an account there.
type gates struct {
	mu    sync.Mutex
	until map[string]gate // by [gateOf]
}

type gate struct {
	at  time.Time
	why string
}

// close has the sessions of a model's account wait until a time.
func (g *gates) close(m model.Model, at time.Time, why string) {
	account := gateOf(m)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = make(map[string]gate)
	}
	if at.After(g.until[account].at) {
		g.until[account] = gate{at, why}
	}
}

// closed returns until when the account of a model is to be left alone; false: it is not.
func (g *gates) closed(m model.Model) (gate, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.until) == 0 {
		return gate{}, false
	}
	account := gateOf(m)
	found, ok := g.until[account]
	if ok && !time.Now().Before(found.at) {
		delete(g.until, account)
		ok = false
	}
	return found, ok
}

// jitter is added to a pause, so that not all sessions go on at once: up to a tenth of
// it, and 5 s at most.
func jitter(pause time.Duration) time.Duration {
	return rand.N(min(pause/10, 5*time.Second) + 1)
}

// callModel asks the model for the next message. A provider that is to be asked again
// later pauses the session until then, and all others of the process on that account.
func (t *Turn) callModel(step context.Context, a *answer) error {
	s := t.s
	var paused time.Duration
	for {
		for {
			found, closed := s.m.gates.closed(s.model)
			if !closed {
				break
			}
			wait := time.Until(found.at)
			if paused += wait; paused > s.m.limits.Pause {
				return fmt.Errorf("%s (a pause of more than %s is not waited for: --max-pause)", found.why, errtext.Duration(s.m.limits.Pause))
			}
			if err := t.pause(step, wait+jitter(wait), found.why); err != nil {
				return err
			}
		}
		err := t.callOnce(step, a)
		wait := pauseFor(err)
		if wait == 0 || wait > s.m.limits.Pause-paused || step.Err() != nil {
			return err
		}
		s.m.gates.close(s.model, time.Now().Add(wait), errtext.Of(err))
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
