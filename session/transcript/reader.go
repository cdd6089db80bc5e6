// Package transcript reads what was said in sessions: answers, and conversations for models
// to resume or people to read.
//
// A session that has ended may be resumed: another session then continues its conversation.
// That one has the id of the first session with "-2" at its end, the next one has "-3", and
// so on. So each session is resumed at most once, and the id of one leads to all the
// others.
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
