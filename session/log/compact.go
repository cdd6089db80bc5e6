package log

import (
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// compactedData says what remains of the conversation for the model: the task, a text, and
// the last messages. The text replaces the other messages.
type compactedData struct {
	ID   string `json:"id"` // of the message with the text
	Text string `json:"text"`
	Task int    `json:"task"` // which message the task is, counted from the end: 1 is the last
	Kept int    `json:"kept"` // how many messages at the end are kept
}

// compact applies a compaction to the messages for the model.
func (f *fold) compact(entry compactedData, e Entry) error {
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

// titledData is a title of the session, and the usage of the model that gave it.
type titledData struct {
	Title string      `json:"title"`
	Usage model.Usage `json:"usage"`
}

// entitle applies a title.
func (f *fold) entitle(entry titledData, _ Entry) error {
	r := &f.Record
	r.Description, r.Steps, r.Usage = entry.Title, r.Steps+1, r.Usage.Add(entry.Usage)
	return nil
}
