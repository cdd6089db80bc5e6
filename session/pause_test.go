package session_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// limited is a model whose provider refuses the first calls.
type limitedModel struct {
	turns
	refuse atomic.Int64
	err    *model.Error
	calls  atomic.Int64
}

func limited(refuse int64, wait time.Duration, status int) *limitedModel {
	m := &limitedModel{err: &model.Error{Model: "turns", Kind: model.ErrRateLimited, Status: status, RetryAfter: wait, Message: "slow down"}}
	m.refuse.Store(refuse)
	m.turns = turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		m.calls.Add(1)
		if m.refuse.Add(-1) >= 0 {
			yield(nil, m.err)
			return
		}
		say("done")(ctx, req, yield)
	}}
	return m
}

// TestPause: a provider that says when to ask again pauses the session, which goes on
// by itself; its time stands still meanwhile.
func TestPause(t *testing.T) {
	m := limited(2, 30*time.Millisecond, http.StatusTooManyRequests)
	e := newEnv(t, m, nil)
	s := e.open(session.Spec{})
	out := s.Prompt(t.Context(), "go")
	e.end(s, out)
	if out.Status != record.Completed || out.Text != "done" || m.calls.Load() != 3 {
		t.Errorf("%+v after %d calls", out, m.calls.Load())
	}
	paused := 0
	for _, ev := range e.events(s) {
		if change, ok := ev.(event.StatusChange); ok && change.Status == event.StatusPaused {
			paused++
			if change.Pause == nil || change.Pause.Reason != m.err.Error() || change.Pause.Until.IsZero() {
				t.Errorf("%+v", change.Pause)
			}
		}
	}
	if paused != 2 || s.Record().Pause != nil {
		t.Errorf("paused %d times, and at the end %+v", paused, s.Record().Pause)
	}
}

// TestPauseTooLong: what is longer than the limit fails with the provider's words.
func TestPauseTooLong(t *testing.T) {
	for _, m := range []*limitedModel{limited(1, 2*time.Hour, http.StatusTooManyRequests), limited(1, 0, http.StatusTooManyRequests), limited(1, time.Millisecond, http.StatusBadRequest)} {
		e := newEnv(t, m, func(o *session.Options) { o.Limits.Pause = time.Hour })
		s := e.open(session.Spec{})
		out := s.Prompt(t.Context(), "go")
		e.end(s, out)
		if out.Status != record.Failed || !errors.Is(out.Err, m.err) || m.calls.Load() != 1 {
			t.Errorf("%d, retry after %s: %+v", m.err.Status, m.err.RetryAfter, out)
		}
	}
}

// ofAccount is a model of an account that has others.
type ofAccount struct {
	*limitedModel
	name string
}

func (m ofAccount) Name() string  { return m.name }
func (ofAccount) Account() string { return "an account" }

// TestPauseIsShared: sessions on the models of one account wait together, and do not ask
// for themselves.
func TestPauseIsShared(t *testing.T) {
	m := limited(1, time.Hour, http.StatusTooManyRequests)
	e := newEnv(t, m, func(o *session.Options) {
		o.Limits.Pause = 2 * time.Hour
		o.Model = func(name string) (model.Model, error) { return ofAccount{m, name}, nil }
	})
	first := e.open(session.Spec{Models: []string{"a"}})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	prompt := func(s *session.Session) {
		running.Go(func() {
			out := s.Prompt(ctx, "go")
			if err := s.End(out.Status, out.Err); err != nil || out.Status != record.Cancelled {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	isPaused := func(s *session.Session) {
		t.Helper()
		for d, err := range e.bus.Follow(t.Context(), s.Path(), &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(d.Raw), `"status":"paused"`) {
				return
			}
		}
		t.Fatalf("the session ended without a pause: %+v", s.Record())
	}
	prompt(first)
	isPaused(first)
	if p := first.Record().Pause; p == nil || time.Until(p.Until) < 30*time.Minute {
		t.Errorf("the record has %+v", p)
	}
	for i := range 10 {
		other := e.open(session.Spec{Models: []string{strconv.Itoa(i)}})
		prompt(other)
		isPaused(other)
	}
	if n := m.calls.Load(); n != 1 {
		t.Errorf("%d calls, want only that of the first session", n)
	}
	stop()
	running.Wait()
}
