// Package retention deletes sessions: on request, by age and size, and after delivery of
// their results. It keeps what deleted sessions have used, for the budgets that they
// shared.
package retention

import (
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
)

// Retention deletes the sessions of a workspace.
type Retention struct {
	bus       *eventbus.Bus
	index     *index.Index
	approvals *approval.Bucket
}

// New returns a retention for the bus's workspace.
func New(bus *eventbus.Bus, records *index.Index, approvals *approval.Bucket) *Retention {
	return &Retention{bus, records, approvals}
}
