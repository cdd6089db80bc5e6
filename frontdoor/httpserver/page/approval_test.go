package page

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
)

func text(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Text)
	}
	return b.String()
}

// TestCard: all of a call is shown, and nothing hides in it.
func TestCard(t *testing.T) {
	command := "a \u202eb\u200bc\x1b[2J\u00ad\nd \\u{202e}"
	c := newCard(&approval.Approval{
		Tool: "shell_exec", Patterns: []string{"a *"}, AlwaysPatterns: []string{"a *"},
		Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: "command", Text: command}, {Name: "changes", Form: "diff", Text: "@@ -1 +1 @@\n-old\n+new\u202e\n"}}},
	})
	if len(c.Parts) != 2 || c.LeftOut != "" {
		t.Fatalf("card %+v", c)
	}
	if got, want := text(c.Parts[0].Text), `a \u{202e}b\u{200b}c\u{1b}[2J\u{ad}`+"\nd \\u{202e}"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	hidden := 0
	for _, p := range c.Parts[0].Text {
		if p.Hidden {
			hidden++
		}
		if strings.ContainsFunc(p.Text, func(r rune) bool { return r != '\n' && termtext.Hides(r) }) {
			t.Errorf("piece %q hides something", p.Text)
		}
	}
	if hidden != 4 { // and not the one that is written out
		t.Errorf("%d hidden characters, want 4", hidden)
	}
	var diff []string
	for _, line := range c.Parts[1].Diff {
		diff = append(diff, line.Op+" "+text(line.Text))
	}
	if got, want := strings.Join(diff, "|"), `at @@ -1 +1 @@|del old|add new\u{202e}`; got != want {
		t.Errorf("diff %q, want %q", got, want)
	}
	if want := []string{`{"shell_exec":{"a":"allow"}}`, `{"shell_exec":{"a *":"allow"}}`}; strings.Join(c.Always, " ") != strings.Join(want, " ") {
		t.Errorf("always %q, want %q", c.Always, want)
	}
}
