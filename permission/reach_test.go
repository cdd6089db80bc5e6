package permission

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestReach: what Reach says of a pattern is what a call with a text of it gets.
func TestReach(t *testing.T) {
	patterns := []string{"*", "git *", "git push *", "docs/*", "*.md", "{a,b}/*", "@(x|y) *", "?(no)c", "[ab]c", "a?c", "/etc/*", "!x", "!(a|b)", "**/z", `a\*b`, "(broken", "{1..3}"}
	actions := []Action{Allow, Ask, Deny}
	rapid.Check(t, func(t *rapid.T) {
		var sets []*Ruleset
		for range 3 {
			var rules []Rule
			for range rapid.IntRange(0, 6).Draw(t, "rules") {
				r := Rule{Tool: rapid.SampledFrom([]string{"*", "x", "y"}).Draw(t, "tool"), Pattern: rapid.SampledFrom(patterns).Draw(t, "pattern"), Action: rapid.SampledFrom(actions).Draw(t, "action")}
				if _, err := compileRule(r); err == nil {
					rules = append(rules, r)
				}
			}
			sets = append(sets, MustRuleset(rules...))
		}
		l := &Layers{Policies: sets[:1], Agents: sets[1:2], Static: sets[2], Defaults: Defaults()}
		got := l.Reach("x")
		decided := func(text string) Action {
			v := Value{Tool: "x", Text: text}
			if strings.HasPrefix(text, "/") {
				v.Abs = text
			}
			return l.Decide([]Value{v}).Action
		}
		if want := decided("\uE000/\uE001 \uE002"); got.Base != want {
			t.Fatalf("the base is %v, and a text that no pattern names gets %v", got.Base, want)
		}
		for want, list := range map[Action][]string{Allow: got.Allow, Ask: got.Ask, Deny: got.Deny} {
			for _, p := range list {
				c, err := compileRule(Rule{Tool: "x", Pattern: p, Action: Deny})
				if err != nil {
					t.Fatal(err)
				}
				text := example(p)
				if !c.matches(&Value{Tool: "x", Text: text, Abs: text}) {
					if want == Allow {
						t.Fatalf("%q is allowed without an example", p)
					}
					continue
				}
				if is := decided(text); is != want {
					t.Fatalf("%q is filed under %v, and %q gets %v", p, want, text, is)
				}
			}
		}
	})
}

// TestExamples: patterns of the usual forms have an example.
func TestExamples(t *testing.T) {
	for _, p := range []string{"git *", "*.md", "{a,b}/*", "@(x|y) *", "+(x|y)z", "?(no)c", "*(no)c", "[ab]c", "a?c", "**/z", `a\*b`, "a(b|c{d,e})f", "https://*.example.com/*"} {
		c, err := compileRule(Rule{Tool: "x", Pattern: p, Action: Deny})
		if err != nil {
			t.Fatal(p, err)
		}
		if text := example(p); !c.matches(&Value{Tool: "x", Text: text}) {
			t.Errorf("the example of %q is %q, which it does not match", p, text)
		}
	}
	if got := (&Layers{}).Reach("x"); got.Base != Ask || slices.Concat(got.Allow, got.Ask, got.Deny) != nil {
		t.Errorf("without rules: %+v", got)
	}
}
