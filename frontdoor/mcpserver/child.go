package mcpserver

import (
	"time"

	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// child is a child of the connection that runs. It goes on when a call that
// waits for it is answered before its end.
type child struct {
	*taskt.Run
	begun    time.Time
	progress *childProgress

	// The rest is guarded by the mutex of the connection.

	attempts int       // calls that were answered without its result
	claims   int       // calls that have waited for it
	waiting  int       // those that do
	told     bool      // its answer was the result of a call
	lost     time.Time // when a call that waited for it was cut off; zero means no call was, or the model knows
	until    time.Time // when it is stopped if no call waits for it; zero means never
}

// age is how long the child has been there, in whole seconds.
func (c *child) age() time.Duration { return time.Since(c.begun).Round(time.Second) }

// ended is a child that has ended.
type ended struct {
	id, agent string
	status    store.Status
	told      bool // its answer was the result of a call
	lost      bool // a call was cut off, and no other one has said so
	beside    bool // it ran in the background, and no call has said that it has ended
}
