package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
)

// MaxText bounds what a model that summarises is shown of one text, in bytes.
const MaxText = 2000

// Bytes returns how long the texts of messages are. Images count as texts of as many tokens.
func Bytes(messages []model.Message) (n int) {
	for _, m := range messages {
		n += len(m.Text) + imageBytes(m.Images)
		for _, r := range m.Reasoning {
			n += len(r.Text) + len(r.Signature) + len(r.Redacted)
		}
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
		for _, r := range m.ToolResults {
			n += len(r.Text) + imageBytes(r.Images)
		}
	}
	return n
}

// lastSteps returns where the last steps after the task begin that fit into room bytes, at
// least one. If a step does not fit, its results are cut, in a copy.
func lastSteps(messages []model.Message, task, room int) (kept int, shortened []model.Message) {
	kept = len(messages)
	for i := len(messages) - 1; i > task; i-- {
		if messages[i].Role != model.Assistant {
			continue
		}
		if kept < len(messages) && Bytes(messages[i:]) > room {
			return kept, messages
		}
		if kept = i; Bytes(messages[i:]) > room {
			return kept, cutResults(messages, i, max(room, 2*MaxText))
		}
	}
	return kept, messages
}

// cutResults cuts the results of calls from a message on, so that all of them fit into room
// bytes.
func cutResults(messages []model.Message, from, room int) []model.Message {
	results := 0
	for _, m := range messages[from:] {
		results += len(m.ToolResults)
	}
	messages = slices.Clone(messages) // others may have what a fork was made of
	for i := from; i < len(messages); i++ {
		m := &messages[i]
		m.ToolResults = slices.Clone(m.ToolResults)
		for k := range m.ToolResults {
			r := &m.ToolResults[k]
			if imageBytes(r.Images) > room/results {
				r.Images, r.Text = nil, r.Text+notes(r.Images, "left out, to make room")
			}
			if len(r.Text) > room/results {
				r.Text = termtext.CutBytes(r.Text, room/results) + "\n[The rest of this result was left out, to make room: make the call again for a part of it.]"
			}
		}
	}
	return messages
}

// Render writes messages as a text of at most room bytes. Of a longer one it leaves out the
// middle.
func Render(messages []model.Message, room int) string {
	var parts []string
	for _, m := range messages {
		var b strings.Builder
		fmt.Fprintf(&b, "--- %s\n", m.Role)
		if m.Text != "" {
			b.WriteString(termtext.CutBytes(m.Text, 4*MaxText) + "\n")
		}
		b.WriteString(notes(m.Images, "not shown here"))
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "calls %s %s\n", c.Name, termtext.CutBytes(c.Arguments, MaxText))
		}
		for _, r := range m.ToolResults {
			fmt.Fprintf(&b, "result: %s\n", termtext.CutBytes(r.Text, MaxText)+notes(r.Images, "not shown here"))
		}
		parts = append(parts, b.String())
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	for size > room && len(parts) > 2 {
		middle := len(parts) / 3 // what is newer counts for more
		size -= len(parts[middle])
		parts = slices.Delete(parts, middle, middle+1)
	}
	return strings.Join(parts, "")
}

// Calls lists the last calls that the messages make, a line each.
func Calls(messages []model.Message) string {
	var lines []string
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			lines = append(lines, fmt.Sprintf("- %s %s\n", c.Name, termtext.OneLine(c.Arguments, termtext.MaxLabel)))
		}
	}
	return strings.Join(lines[max(0, len(lines)-50):], "")
}
