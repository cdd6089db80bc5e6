package log

import (
	"encoding/json"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// compactedData says what the model is sent from there on of the conversation so far:
// the task, a text in place of what came before, and the last messages.
type compactedData struct {
	ID   string `json:"id"` // of the message that the text is
	Text string `json:"text"`
	Task int    `json:"task"` // which message the task is, counted from the end: 1 is the last
	Kept int    `json:"kept"` // how many messages at the end are kept
}

// CompactedEntry says that the model is sent, of the conversation that it was sent so far,
// the message that is task from its end (1: the last), then a text, then the last kept
// messages.
func CompactedEntry(id, text string, task, kept int) Entry {
	return newEntry(compactKind, compactedData{ID: id, Text: text, Task: task, Kept: kept})
}

// compact takes what a compaction has left of what the model is sent.
func (f *fold) compact(e Entry) error {
	var entry compactedData
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return err
	}
	f.draft, f.Compacted = nil, true
	n := len(f.Sent)
	var sent []*Message
	if entry.Task > 0 && entry.Task <= n {
		sent = append(sent, f.Sent[n-entry.Task])
	}
	sent = append(sent, &Message{Schema: record.Schema, ID: entry.ID, SessionID: f.Record.ID, CreatedAt: e.Time, Message: model.Message{Role: model.User, Text: entry.Text}})
	f.Sent = append(sent, f.Sent[n-min(n, max(0, entry.Kept)):]...)
	return nil
}

// titledData is a title of the session, and what the model has used that gave it.
type titledData struct {
	Title string      `json:"title"`
	Usage model.Usage `json:"usage"`
}

// TitledEntry is the title that a model has given the session, in place of its
// description.
func TitledEntry(title string, usage model.Usage) Entry {
	return newEntry(titledKind, titledData{title, usage})
}

// entitle takes a title.
func (f *fold) entitle(e Entry) error {
	var entry titledData
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return err
	}
	r := &f.Record
	r.Description, r.Steps, r.Usage = entry.Title, r.Steps+1, r.Usage.Add(entry.Usage)
	return nil
}
