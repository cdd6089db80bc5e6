package shell

import (
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

func TestQuotedPathsAlways(t *testing.T) {
	for _, text := range []string{"a.txt", "src/[id]/*.ts", "~/x", "./x", "!x", "{a,b}", `a\b`, `"q"`, "@(x)", "é", "a+b"} {
		p := AlwaysPatterns("read_file", []permission.Value{{Tool: "read_file", Text: text}, {Tool: "other", Text: "x"}})
		if len(p) != 1 {
			t.Fatalf("%q: got %q, want one pattern", text, p)
		}
		g, err := glob.Compile(p[0])
		if err != nil || !g.Match(text) || g.Match(text+"x") {
			t.Errorf("%q: pattern %q matches more than it (%v)", text, p[0], err)
		}
	}
}
