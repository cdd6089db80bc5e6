// Package outcome says how sessions ended: as the XML element that a caller's model reads,
// and as the message that tells a parent of the end of a child in the background.
package outcome

import (
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/transcript"
)

// Notices makes the messages that tell parents of the ends of their children.
type Notices struct {
	// EndNotes adds to each message what a worker knows of the end. It is set before anything
	// is recovered; nil adds nothing.
	EndNotes EndNotes

	index       *index.Index
	transcripts *transcript.Reader
}

// NewNotices returns notices without end notes.
func NewNotices(records *index.Index, transcripts *transcript.Reader) *Notices {
	return &Notices{index: records, transcripts: transcripts}
}

// NoteEnds sets the end notes.
func (n *Notices) NoteEnds(notes EndNotes) { n.EndNotes = notes }
