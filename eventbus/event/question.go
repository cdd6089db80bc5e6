package event

import "github.com/agentworker/worker/internal/termtext"

// Question is what a person is asked about a call: the same for every client.
type Question struct {
	Title string         `json:"title"`           // what the call would do, in a line: "replace a.md". It follows "asks to"
	Parts []QuestionPart `json:"parts,omitempty"` // what there is to read before an answer, in that order

	// LeftOut describes the missing text in a sentence. Empty means that nothing is missing.
	LeftOut string `json:"leftOut,omitempty"`
}

// QuestionPart is a text of a question, such as a command, or what an edit changes.
type QuestionPart struct {
	Name string `json:"name"` // "command", "changes", "text"
	Form string `json:"form"` // how to show it: one of the forms below
	Text string `json:"text"`
}

// The forms of parts.
const (
	FormText    = "text"
	FormCommand = "command" // a command line
	FormDiff    = "diff"    // a unified diff without its header
)

// Summary says in a line what the call would do: its command, where it has one. It shows
// invisible characters as escapes.
func (q Question) Summary() string {
	line := q.Title
	for _, p := range q.Parts {
		if p.Form == FormCommand {
			line = "run " + p.Text
			break
		}
	}
	line, _ = termtext.Visible(line, termtext.MaxLabel)
	return line
}

// Masked returns the question without anything that looks like a credential.
func (q Question) Masked() Question {
	var m masker
	return q.masked(&m)
}

func (q Question) masked(m *masker) Question {
	q.Title = m.asked(q.Title)
	q.LeftOut = m.asked(q.LeftOut)
	q.Parts = each(q.Parts, func(p QuestionPart) QuestionPart {
		return QuestionPart{m.asked(p.Name), m.asked(p.Form), m.asked(p.Text)}
	})
	return q
}
