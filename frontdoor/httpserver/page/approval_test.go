package page

import (
	"encoding/json"
	"strings"
	"testing"

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

// TestCard: all of a call is shown, and nothing hides in it; where something is left out
// there is no "always".
func TestCard(t *testing.T) {
	command := "a \u202eb\u200bc\x1b[2J\u00ad\nd \\u{202e}"
	raw, err := json.Marshal(map[string]any{"zeta": []int{1}, "command": command})
	if err != nil {
		t.Fatal(err)
	}
	c := newCard(&approval.Approval{Tool: "shell_exec", Arguments: string(raw), Patterns: []string{"a *"}, AlwaysPatterns: []string{"a *"}})
	if len(c.Arguments) != 2 || c.Arguments[0].Name != "command" || !c.Complete {
		t.Fatalf("card %+v", c)
	}
	if got, want := text(c.Arguments[0].Text), `a \u{202e}b\u{200b}c\u{1b}[2J\u{ad}`+"\nd \\u{202e}"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	hidden := 0
	for _, p := range c.Arguments[0].Text {
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
	if want := []string{`{"shell_exec":{"a":"allow"}}`, `{"shell_exec":{"a *":"allow"}}`}; strings.Join(c.Always, " ") != strings.Join(want, " ") {
		t.Errorf("always %q, want %q", c.Always, want)
	}
	long := strings.Repeat("x", termtext.MaxCard+1)
	for name, a := range map[string]*approval.Approval{
		"arguments": {Arguments: `{"command":"` + long + `"}`, AlwaysPatterns: []string{"x"}},
		"broken":    {Arguments: `{"command":` + long, AlwaysPatterns: []string{"x"}},
		"a pattern": {Arguments: `{}`, Patterns: []string{long}, AlwaysPatterns: []string{"x"}},
		"patterns":  {Arguments: `{}`, Patterns: make([]string, maxShownTexts+1), AlwaysPatterns: []string{"x"}},
	} {
		if c := newCard(a); c.Complete || len(c.Always) > 0 {
			t.Errorf("%s: complete %v, always %q", name, c.Complete, c.Always)
		}
	}
}
