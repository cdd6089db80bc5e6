// Package requests carries what is asked of a session to the process that runs it: to stop,
// to have its model read a message, to move to the background. A [Sender] asks, in any
// process; a [Listener] answers, in the one that runs sessions.
package requests

import (
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/index"
)

// Sender sends requests about the sessions of a workspace.
type Sender struct {
	bus   *eventbus.Bus
	index *index.Index
}

// NewSender returns a sender of requests.
func NewSender(bus *eventbus.Bus, records *index.Index) *Sender { return &Sender{bus, records} }
