// Package requests carries requests about a session to the process that runs it. They stop
// the session, have its model read a message, or move it to the background. A [Sender]
// sends them, from any process. A [Listener] receives and answers them, in a process that
// runs sessions.
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

// NewSender returns a sender of requests to the processes of the bus's workspace.
func NewSender(bus *eventbus.Bus, records *index.Index) *Sender { return &Sender{bus, records} }
