package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Text returns a message as text for people.
func Text(m *log.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n", m.Role)
	if m.Text != "" {
		b.WriteString(strings.TrimRight(m.Text, "\n") + "\n")
	}
	for _, i := range m.Images {
		fmt.Fprintf(&b, "[Image %s]\n", i)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "calls %s %s\n", c.Name, c.Arguments)
	}
	for _, r := range m.ToolResults {
		fmt.Fprintf(&b, "%s of %s:\n%s\n", resultWord(r), r.ToolCallID, strings.TrimRight(r.Text, "\n"))
		for _, i := range r.Images {
			fmt.Fprintf(&b, "[Image %s]\n", i)
		}
	}
	for _, n := range m.Nested {
		fmt.Fprintf(&b, "    --- session %s of %s, %s\n", n.ID, n.Agent, n.Status)
		for _, m := range n.Messages {
			for line := range strings.Lines(Text(m)) {
				b.WriteString("    " + line)
			}
		}
	}
	return b.String()
}

func resultWord(r model.ToolResult) string {
	if r.IsError {
		return "error"
	}
	return "result"
}

// Markdown returns a transcript as Markdown. The messages can't change its structure: texts
// are quoted, so an open construct in one ends with its quotation. All else is in fences,
// each longer than any fence in it.
func Markdown(r *record.Record, messages []*log.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n", termtext.Code(r.ID))
	for _, row := range [][2]string{
		{"agent", r.Agent},
		{"description", r.Description},
		{"status", string(r.Status)},
		{"error", r.Error},
		{"model", r.Model},
		{"parent", r.ParentID},
		{"created", r.CreatedAt.UTC().Format(time.RFC3339)},
		{"tokens", fmt.Sprintf("%d in, %d out", r.Usage.InputTokens, r.Usage.OutputTokens)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", row[0], termtext.Code(row[1]))
		}
	}
	names := make(map[string]string) // of calls, by id
	for i, m := range messages {
		fmt.Fprintf(&b, "\n## %d. %s, %s\n", i+1, m.Role, m.CreatedAt.UTC().Format(time.RFC3339))
		if m.Text != "" {
			b.WriteString("\n" + quoted(m.Text))
		}
		b.WriteString(imageLines(m.Images))
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			fmt.Fprintf(&b, "\nCalls %s (%s):\n\n%s", termtext.Code(c.Name), termtext.Code(c.ID), termtext.Fenced("json", c.Arguments))
		}
		for _, n := range m.Nested {
			b.WriteString("\n" + quoted(Markdown(n.Record, n.Messages)))
		}
		for _, res := range m.ToolResults {
			fmt.Fprintf(&b, "\nThe %s of %s (%s):\n\n%s%s", resultWord(res), termtext.Code(cmp.Or(names[res.ToolCallID], "a call")), termtext.Code(res.ToolCallID), termtext.Fenced("", res.Text), imageLines(res.Images))
		}
	}
	return b.String()
}

// imageLines lists images in Markdown.
func imageLines(images []model.Image) string {
	var b strings.Builder
	for _, i := range images {
		fmt.Fprintf(&b, "\nImage: %s\n", termtext.Code(i.String()))
	}
	return b.String()
}

// quoted returns text as a block quotation.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(termtext.LineEnds(text), "\n"), "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return b.String()
}
