// Package integrity compares the index of sessions with their logs and finds what the store
// has lost. It can make the index again from the logs.
package integrity

import (
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/index"
)

// Checker checks what is stored of a workspace's sessions.
type Checker struct {
	bus   *eventbus.Bus
	index *index.Index
}

// NewChecker returns a checker for the bus's workspace.
func NewChecker(bus *eventbus.Bus, records *index.Index) *Checker { return &Checker{bus, records} }
