// Package transcript reads what was said in sessions: conversations, as models resume them
// and as people read them, and answers.
package transcript

import (
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/index"
)

// Reader reads the transcripts of a workspace's sessions.
type Reader struct {
	bus   *eventbus.Bus
	index *index.Index
}

// NewReader returns a reader of transcripts.
func NewReader(bus *eventbus.Bus, records *index.Index) *Reader { return &Reader{bus, records} }
