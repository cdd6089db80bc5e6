// Package outcome renders how sessions ended. It makes the XML element for a caller's
// model, and the message that tells a parent that a child in the background has ended.
package outcome

import (
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/transcript"
)

// Notices makes the messages that tell parents of the ends of their children.
type Notices struct {
	// EndNotes adds to each message what a worker knows of the end. Set it before sessions
	// are recovered; nil adds nothing.
	EndNotes EndNotes

	index       *index.Index
	transcripts *transcript.Reader
}

// NewNotices returns notices without end notes.
func NewNotices(records *index.Index, transcripts *transcript.Reader) *Notices {
	return &Notices{index: records, transcripts: transcripts}
}
