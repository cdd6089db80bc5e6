package listing

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/taskt"
)

// textOf is the task tool's text as taskt writes it.
func textOf(agents []taskt.Agent) string {
	var b strings.Builder
	b.WriteString("Gives a task to a subagent.\n\nAgents:\n")
	for _, a := range agents {
		b.WriteString(line(a.Name, strings.TrimSpace(a.Description)))
	}
	return b.String()
}

func TestTruncateDescriptions(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 400)) // 1,999 characters
	few := []taskt.Agent{{Name: "a", Description: "Short."}, {Name: "b", Description: words}}
	if got := truncateDescriptions(textOf(few), few); got != textOf(few) {
		t.Errorf("a text of %d units was changed:\n%s", units(textOf(few)), got)
	}

	// Four get the same budget, and the short one stays the same.
	many := []taskt.Agent{{Name: "a", Description: "Short."}}
	for _, name := range []string{"b", "c", "d", "e"} {
		many = append(many, taskt.Agent{Name: name, Description: words})
	}
	got := truncateDescriptions(textOf(many), many)
	if n := units(got); n > maxDescription || n < maxDescription-40 {
		t.Errorf("%d units, want nearly %d", n, maxDescription)
	}
	lines := strings.Split(got, "\n")
	if lines[3] != "- a: Short." || lines[8] != strings.TrimSpace(shortened) {
		t.Errorf("text:\n%s", got)
	}
	for _, l := range lines[4:8] {
		if len(l) != len(lines[4]) || !strings.HasSuffix(l, "word…") {
			t.Errorf("a line of %d characters that ends in %q beside one of %d", len(l), l[len(l)-10:], len(lines[4]))
		}
	}

	// Not even the names of a thousand fit.
	many = nil
	for i := range 1000 {
		many = append(many, taskt.Agent{Name: fmt.Sprintf("agent-%04d", i), Description: words})
	}
	got = truncateDescriptions(textOf(many), many)
	named := strings.Count(got, "- agent-")
	if units(got) > maxDescription || named < 200 || !strings.Contains(got, fmt.Sprintf("- and %d more\n", 1000-named)) {
		t.Errorf("%d units, %d named:\n%s", units(got), named, got)
	}
}

// TestTruncateDescriptionsProperties: the text fits for any agents, and names every agent
// that it does not count. It shortens no description that is shorter than the result for
// another one.
func TestTruncateDescriptionsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		description := rapid.OneOf(
			rapid.StringN(0, 50, -1),
			rapid.StringN(500, 3000, -1),
			rapid.StringMatching(`[a-zäß\x{1F600} ]{100,1000}`),
		)
		agents := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) taskt.Agent {
			return taskt.Agent{Name: rapid.StringMatching(`[a-z]{1,40}`).Draw(t, "name"), Description: description.Draw(t, "description")}
		}), 1, 40, func(a taskt.Agent) string { return a.Name }).Draw(t, "agents")
		text := textOf(agents)
		got := truncateDescriptions(text, agents)
		if n := units(got); n > maxDescription {
			t.Fatalf("%d units, want at most %d:\n%s", n, maxDescription, got)
		}
		if units(text) <= maxDescription {
			return
		}
		if !strings.HasSuffix(got, shortened) {
			t.Fatalf("nothing says that the text was shortened:\n%s", got)
		}
		longest := 0 // of the shortened descriptions
		whole := func(a taskt.Agent) string { return strings.Join(strings.Fields(a.Description), " ") }
		for _, a := range agents {
			_, rest, ok := strings.Cut(got, "\n- "+a.Name+": ")
			if !ok {
				t.Fatalf("%s is not named:\n%s", a.Name, got)
			}
			if d, _, _ := strings.Cut(rest, "\n"); d != whole(a) {
				longest = max(longest, units(d))
			}
		}
		for _, a := range agents {
			if w := whole(a); units(w) <= longest && !strings.Contains(got, line(a.Name, w)) {
				t.Fatalf("%s was shortened from %d units, another one to %d", a.Name, units(w), longest)
			}
		}
	})
}

func TestTruncate(t *testing.T) {
	tests := []struct {
		s     string
		limit int
		want  string
	}{
		{"all of it", 9, "all of it"},
		{"all of it", 8, "all of…"},
		{"all, of it", 6, "all…"},
		{"unbreakable", 5, "unbr…"},
		{"x", 0, ""},
		{"xy", 1, "…"},
		{"😀😀", 3, "😀…"}, // two units each
		{"😀😀", 2, "…"},
		{"\xff\xff\xff", 2, "\xff…"},
	}
	for _, tt := range tests {
		if got := truncate(tt.s, tt.limit); got != tt.want {
			t.Errorf("truncate(%q, %d) = %q, want %q", tt.s, tt.limit, got, tt.want)
		}
	}
}
