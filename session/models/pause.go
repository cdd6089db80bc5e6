package models

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentworker/worker/model"
)

const (
	overloaded      = 529              // the HTTP status of Anthropic's API when it has too much to do
	overloadedPause = 30 * time.Second // the pause after that status, if the provider names no time
)

// PauseFor returns how long to wait before the next call after a provider has refused one; 0
// means that it does not say.
func PauseFor(err error) time.Duration {
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

// Transient reports whether a failed model call may succeed a little later. The connection
// broke or was silent, the provider is overloaded or limits the rate, or the answer was incomplete.
func Transient(err error) bool {
	failed, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok, errors.Is(err, errTotal):
		return false
	case failed.Kind == model.ErrUnavailable, failed.Kind == model.ErrRateLimited, failed.Kind == model.ErrTimeout:
		return true
	}
	return failed.Incomplete
}

// Backoff returns how long to wait after so many tries: a random time up to half a second,
// doubled with each try, and up to 30 s. The randomness keeps sessions apart
// (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter).
func Backoff(tries int) time.Duration {
	return rand.N(min(500*time.Millisecond<<min(tries-1, 10), 30*time.Second)) + time.Millisecond
}

// Pause says until when nobody calls a provider on an account.
type Pause struct {
	Until time.Time
	Why   string
}

// pauses are the pauses of all accounts.
type pauses struct {
	mu  sync.Mutex
	all map[string]Pause // by [accountOf]
}

// Pause has all sessions of the process wait that share a model's account.
func (m *Models) Pause(of model.Model, p Pause) {
	account := accountOf(of)
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	if m.pauses.all == nil {
		m.pauses.all = make(map[string]Pause)
	}
	if p.Until.After(m.pauses.all[account].Until) {
		m.pauses.all[account] = p
	}
}

// Paused returns the pause of a model's account; false means that there is none.
func (m *Models) Paused(of model.Model) (Pause, bool) {
	m.pauses.mu.Lock()
	defer m.pauses.mu.Unlock()
	if len(m.pauses.all) == 0 {
		return Pause{}, false
	}
	account := accountOf(of)
	p, ok := m.pauses.all[account]
	if ok && !time.Now().Before(p.Until) {
		delete(m.pauses.all, account)
		ok = false
	}
	return p, ok
}

// Jitter returns what to add to a pause, so that not all sessions go on at once: up to a tenth
// of it, and at most 5 s.
func Jitter(pause time.Duration) time.Duration {
	return rand.N(min(pause/10, 5*time.Second) + 1)
}
