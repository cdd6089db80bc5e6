package log

import (
	"strings"
	"time"

	"github.com/agentworker/worker/model"
)

// draft is a message of the model that is not complete.
type draft struct {
	id        string
	text      strings.Builder
	at, last  int // where the last delta began, and its length
	reasoning []model.Reasoning
}

// drafted returns the draft of a message. An earlier incomplete message stays incomplete.
func (f *fold) drafted(id string) *draft {
	f.Answer = nil
	if f.draft == nil || f.draft.id != id {
		f.draft = &draft{id: id}
	}
	return f.draft
}

// add appends a piece of text. A piece that was stored twice counts once.
func (d *draft) add(offset int, text string) {
	if offset < d.at || offset == d.at && d.last > 0 {
		return
	}
	d.at, d.last = offset, len(text)
	d.text.WriteString(text)
}

// say applies what events lack of the message.
func (d *draft) say(entry *messageData) {
	d.reasoning = entry.Reasoning
	if entry.Text != "" {
		d.text.Reset()
		d.text.WriteString(entry.Text)
	}
}

// complete ends the draft as a message.
func (f *fold) complete(at time.Time) {
	d := f.draft
	if d == nil {
		return
	}
	f.draft = nil
	f.groups[d.id] = &group{message: f.append(d.id, at, model.Message{
		Role: model.Assistant, Text: d.text.String(), Reasoning: d.reasoning,
	})}
}

// CutOff returns the text of an incomplete message of the model, with a note that it was cut
// off. "" means nobody has seen any of it, so it is not in the conversation.
func CutOff(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text + cutNote
}

const cutNote = "\n\n[The answer was cut off here.]"

// cutOff ends the draft as a message that was not completed.
func (f *fold) cutOff(at time.Time) {
	d := f.draft
	f.draft = nil
	if d == nil {
		return
	}
	if text := CutOff(d.text.String()); text != "" {
		f.append(d.id, at, model.Message{Role: model.Assistant, Text: text})
	}
}
