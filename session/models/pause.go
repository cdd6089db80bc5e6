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

// overloaded is the HTTP status of a server that has too much to do, as Anthropic's API
// sends it, and overloadedPause how long it is left alone where it names no time.
const (
	overloaded      = 529
	overloadedPause = 30 * time.Second
)

// PauseFor returns how long a provider wants to be left alone that has refused a call;
// 0 means it does not say.
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

// Pause says until when an account of a provider is to be left alone.
type Pause struct {
	Until time.Time
	Why   string
}

// pauses are those of all accounts.
type pauses struct {
	mu  sync.Mutex
	all map[string]Pause // by [accountOf]
}

// Pause has the sessions of the process that share a model's account wait until a time.
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

// Paused returns until when the account of a model is to be left alone; false: it is not.
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

// Jitter is added to a pause, so that not all sessions go on at once: up to a tenth of
// it, and 5 s at most.
func Jitter(pause time.Duration) time.Duration {
	return rand.N(min(pause/10, 5*time.Second) + 1)
}
