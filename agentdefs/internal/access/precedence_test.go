package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// FuzzShadowed holds that a rule which is said never to count decides nothing:
// without it every value gets the same decision.
func FuzzShadowed(f *testing.F) {
	for _, s := range []string{
		"read_file|src/secret/**|deny\nread_file|src/**|allow", "a|git push *|deny\na|git *|allow\n*|*|ask", "a|x|allow\na|!y|deny",
		"a|*.env|deny\n*|**|allow", "a|./x|deny\na|x*|allow", "a|a/b|deny\na|a/**|allow", "a|a.b*|deny\na|a.*|allow", "a|x.|deny\na|[x]?|allow",
		"a|a-b c*|deny\na|a-b *|allow", "gh_get|*|deny\ngh_*|*|allow", "a|a b|deny\na|a *|allow", "a|é|deny\na|e*|allow", "a|a/|deny\na|a/*|allow",
		"a|a{b,c}|deny\na|a*|allow", "a|a+(b)|deny\na|a*|allow", "a|ab?(c)|allow\na|ab*|deny", "a|x/./y|deny\na|x/*|allow", "a|.x*|deny\na|.*|allow",
	} {
		f.Add(s, "src/secret/x")
		f.Add(s, "git push")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		var clauses []Clause
		for i, line := range strings.Split(text, "\n") {
			parts := strings.SplitN(line, "|", 3)
			if len(parts) < 3 || i > 8 {
				return
			}
			action, err := permission.ParseAction(parts[2])
			if err != nil {
				return
			}
			clauses = append(clauses, Clause{{Tool: parts[0], Pattern: parts[1], Action: action, Source: permission.Source{Line: i + 1}}})
		}
		all, err := permission.NewRuleset(slices.Concat(clauses...)...)
		if err != nil {
			return
		}
		values := []string{value}
		for _, c := range clauses { // what the patterns are about
			p := c[0].Pattern
			star := strings.ReplaceAll(p, "*", "")
			values = append(values, p, star, star+"/", strings.TrimRight(star, "/"), strings.ReplaceAll(p, "*", "x"), strings.ReplaceAll(p, "**", "x/y"), p+value, "./"+star, "/"+star)
		}
		for i, c := range clauses {
			by, ok := shadowed(c, clauses[i+1:])
			if !ok {
				continue
			}
			rest := slices.Delete(slices.Clone(clauses), i, i+1)
			without, err := permission.NewRuleset(slices.Concat(rest...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{c[0].Tool, "read_file", "a", "gh_get", strings.ReplaceAll(c[0].Tool, "*", "x")} {
				for _, text := range values {
					if text == "" {
						continue // only "*": deny is about it
					}
					for _, abs := range []string{"", "/w/" + text} {
						v := []permission.Value{{Tool: tool, Text: text, Abs: abs}}
						got := (&permission.Layers{Agents: []*permission.Ruleset{without}}).Decide(v)
						want := (&permission.Layers{Agents: []*permission.Ruleset{all}}).Decide(v)
						if got.Action != want.Action {
							t.Errorf("%q: %v is said to be covered by %v, and decides %s %q: %v, without it %v", fmt.Sprint(clauses), c[0], by, tool, text, want.Action, got.Action)
						}
					}
				}
			}
		}
	})
}
