package definition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestHostile loads files made to exhaust a reader, in a time that is ample for
// each of them.
func TestHostile(t *testing.T) {
	const limit = 5 * time.Second
	header := func(s string) string { return "---\ndescription: x\n" + s + "\n---\nWork." }
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
	}
	const n = 120 << 10
	for name, file := range map[string]string{
		"aliases":          header(bomb),
		"aliases allowed":  header(bomb + "permission: *z\ntools: *z"),
		"flow lists":       header("x: " + strings.Repeat("[", n)),
		"flow maps":        header("x: " + strings.Repeat("{a: ", n/4)),
		"flow lists shut":  header("x: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
		"dashes":           header("x:\n" + strings.Repeat("- ", n/2)),
		"nested maps":      header(nested(400)),
		"keys":             header(strings.Repeat("a: b\n", n/5)),
		"comments":         header(strings.Repeat("# a\n", n/4)),
		"comments behind":  header(strings.Repeat("a: b # c\n", n/9)),
		"question marks":   header(strings.Repeat("? ", n/2)),
		"anchors":          header(strings.Repeat("&a ", n/3)),
		"tags":             header(strings.Repeat("!a ", n/3)),
		"quotes":           header("x: " + strings.Repeat("\"", n)),
		"colons":           header("x: " + strings.Repeat(":", n)),
		"broken keys":      header("x: a: b\n" + strings.Repeat("tools : [\n", n/10)),
		"broken texts":     header("x: a: b\n" + strings.Repeat("name: a: b\n", n/11)),
		"examples":         header("x: a: b\n" + strings.Repeat("<example>", n/9)),
		"parentheses":      header("tools: " + strings.Repeat("(", n)),
		"many tools":       header("tools: " + strings.Repeat("a,", n/2)),
		"blank lines":      strings.Repeat("\n", 1<<20-10),
		"comment":          "<!--" + strings.Repeat("<!-- ", 1<<17),
		"fences":           strings.Repeat("---\n", 1<<18-10),
		"backquotes":       strings.Repeat("`", 1<<20-10),
		"indentation":      strings.Repeat(" ", 1<<19) + "---\n" + strings.Repeat(" ", 1<<18),
		"one line":         "---\ndescription: " + strings.Repeat("x", 1<<20-100),
		"zeros":            strings.Repeat("\x00", 1<<20),
		"bad bytes":        strings.Repeat("\xFF", 1<<20),
		"half a surrogate": "\xFF\xFE" + strings.Repeat("\x00\xD8", 1<<19-10),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			agentdefstest.Load(t, map[string]string{".claude/agents/a.md": file}, nil)
			if took := time.Since(start); took > limit {
				t.Errorf("%d bytes took %v, want less than %v", len(file), took, limit)
			} else if took > 100*time.Millisecond {
				t.Logf("%d bytes took %v", len(file), took)
			}
		})
	}
}

// nested is a mapping of that many levels.
func nested(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
