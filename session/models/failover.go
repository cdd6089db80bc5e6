package models

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/agentworker/worker/model"
)

// Cooldown is how long a model that has failed is passed over, where a list names another one.
const Cooldown = time.Minute

// cooldowns are the models of a process that have failed, by the names of models.
type cooldowns struct {
	mu  sync.Mutex
	all map[string]cooldown
}

type cooldown struct {
	until time.Time
	why   error // what the model was passed over for
}

// Cool notes that a model has failed.
func (m *Models) Cool(of model.Model, failed error) {
	why := errCools
	if Unknown(failed) {
		why = errUnknown
	}
	c := &m.cooldowns
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[string]cooldown)
	}
	c.all[of.Name()] = cooldown{time.Now().Add(Cooldown), why}
}

// cools returns why a model is passed over that has failed within [Cooldown]; nil means that it is
// not.
func (m *Models) cools(of model.Model) error {
	c := &m.cooldowns
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.all[of.Name()]; time.Now().Before(found.until) {
		return found.why
	}
	return nil
}

// Why a model is passed over that has failed a moment ago.
var (
	errCools   = errors.New("it has failed less than a minute ago")
	errUnknown = errors.New("its provider does not know it")
)

// Unknown reports whether a provider has no model of the name that it was asked for.
func Unknown(err error) bool {
	failed, ok := errors.AsType[*model.Error](err)
	return ok && (failed.Status == http.StatusNotFound || failed.Code == "model_not_found")
}

// Inherited is the model of a caller, and what its list names after that.
type Inherited struct {
	Model model.Model // nil means that there is none
	Rest  []string
}

// FailsOver reports whether another model may answer in place of one that has failed with err,
// after its retries. A request that is too long is not sent elsewhere.
func FailsOver(err error) bool {
	_, ok := errors.AsType[*model.Error](err)
	return ok && !Overflows(err)
}
