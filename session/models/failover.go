package models

import (
	"errors"
	"sync"
	"time"

	"github.com/agentworker/worker/model"
)

// Cooldown is how long a model that has failed is passed over, where a list names another one.
const Cooldown = time.Minute

// cooldowns are the models of a process that have failed, by the names of models.
type cooldowns struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// Cool notes that a model has failed.
func (m *Models) Cool(of model.Model) {
	c := &m.cooldowns
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = make(map[string]time.Time)
	}
	c.until[of.Name()] = time.Now().Add(Cooldown)
}

// cools reports whether a model has failed within [Cooldown].
func (m *Models) cools(of model.Model) bool {
	c := &m.cooldowns
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.until[of.Name()])
}

// errCools is why a model of a list is passed over that has failed a moment ago.
var errCools = errors.New("it has failed less than a minute ago")

// FailsOver reports whether another model may answer in place of one that has failed with err,
// after its retries. A request that is too long is not sent elsewhere.
func FailsOver(err error) bool {
	_, ok := errors.AsType[*model.Error](err)
	return ok && !Overflows(err)
}
