package toolcall

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
)

// maxQuestion bounds the texts of a question, in bytes. They are stored, and are part of the
// event, whose payload a NATS server takes up to 1 MiB.
const maxQuestion = 128 << 10

// describe returns the question about a call. A value that shows up while a call runs has no
// tool that describes it: its question has a title only.
func (s *Calls) describe(c *Call, values []permission.Value) event.Question {
	q := event.Question{Parts: []event.QuestionPart{}}
	if c.tool == nil {
		q.Title = "use " + c.Name + " for " + values[0].Text
		return q.Masked()
	}
	call := s.toolCall(c)
	call.Readable = s.Readable(c.Name)
	d := c.tool.Describe(call)
	c.described = d
	q.Title = d.Title
	room := maxQuestion
	for _, p := range d.Parts {
		text := p.Text
		if len(text) > room {
			text = termtext.CutBytes(text, room)
			q.LeftOut += fmt.Sprintf("%d characters of %q are left out. ", utf8.RuneCountInString(p.Text)-utf8.RuneCountInString(text), p.Name)
		}
		room -= len(text)
		q.Parts = append(q.Parts, event.QuestionPart{Name: p.Name, Form: string(p.Form), Text: text})
	}
	return q.Masked()
}

// changed reports whether an approved call would not do any more what a person was shown.
func (s *Calls) changed(c *Call) bool {
	if c.tool == nil {
		return false
	}
	call := s.toolCall(c)
	call.Readable = s.Readable(c.Name)
	return !reflect.DeepEqual(c.tool.Describe(call), c.described)
}
