package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const blocked = `{
  "x": {"*": "ask"},
  "agents": {
    "reviewer": {"x": {"*": "deny", "look": "allow"}, "when": {"unattended": {"x": {"look": "deny"}}}},
  },
  "when": {"unattended": {"y": "deny"}},
  "z": "allow"
}`

func TestBlocks(t *testing.T) {
	all := rules(t, blocked)
	for _, c := range []struct {
		who        Who
		tool, text string
		want       Action
	}{
		{Who{}, "x", "look", Ask},
		{Who{Agent: "other"}, "x", "look", Ask},
		{Who{Agent: "Reviewer"}, "x", "look", Ask}, // names are exact
		{Who{Agent: "reviewer"}, "x", "look", Allow},
		{Who{Agent: "reviewer"}, "x", "do", Deny},
		{Who{Agent: "reviewer", Unattended: true}, "x", "look", Deny},
		{Who{Agent: "reviewer"}, "y", "*", Ask},
		{Who{Unattended: true}, "y", "*", Deny},
		{Who{Unattended: true}, "z", "*", Allow},
	} {
		l := Layers{Static: all.For(c.who)}
		d := l.Decide([]Value{{Tool: c.tool, Text: c.text}})
		if d.Action != c.want {
			t.Errorf("%+v %s %s: %v, want %v", c.who, c.tool, c.text, d.Action, c.want)
		}
		if c.who.Unattended && c.who.Agent != "" && !strings.Contains(d.Reason(), "for the agent reviewer when unattended (rules:4)") {
			t.Error(d.Reason())
		}
	}
	first, again := all.For(Who{Agent: "reviewer"}), all.For(Who{Agent: "reviewer"})
	if first != again || all.For(Who{}).For(Who{Agent: "reviewer"}).Len() != 2 {
		t.Error("what was chosen is not kept")
	}
	// Where no session was chosen, the blocks deny and allow nothing.
	l := Layers{Static: all}
	if d := l.Decide([]Value{{Tool: "x", Text: "look"}}); d.Action != Deny {
		t.Errorf("without a session: %v", d.Action)
	}
	for text, want := range map[string]string{
		`{"agents": "deny"}`:                              "test:1:12: agents: want blocks of rules",
		`{"when": "unattended"}`:                          "test:1:10: when: want blocks of rules",
		`{"when": {"alone": {}}}`:                         `unknown condition "alone" (known: unattended)`,
		`{"agents": {"a*": {}}}`:                          "patterns are not for names",
		`{"agents": {"a": "deny"}}`:                       "agents: a: want rules",
		`{"agents": {"a": {"agents": {"b": {}}}}}`:        "agents: it stands in such a block already",
		`[["agents", [["a", [["x", [["y", "denny"]]]]]]]`: "",
	} {
		if _, err := ParseJSON([]byte(text), "test", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// "always" goes before the denies of blocks, and after their asks.
func TestAlwaysBesideBlocks(t *testing.T) {
	for text, patterns := range map[string][]string{
		blocked: {"look *"},
		`{"x": "ask", "agents": {"a": {"x": "ask"}}}`:                        {"look *"},
		`[["x", "ask"], ["agents", [["a", [["x", "deny"]]]]]]`:               {"look *"},
		`{"when": {"unattended": {"x": {"look at *": "deny"}}}, "x": "ask"}`: {"look *"},
	} {
		edited, err := allowJSON([]byte(text), "test", "x", patterns)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		before, after := rules(t, text), rules(t, string(edited))
		for _, who := range []Who{{}, {Agent: "a"}, {Agent: "reviewer"}, {Unattended: true}, {Agent: "reviewer", Unattended: true}} {
			for _, value := range []string{"look at it", "look", "do"} {
				v := []Value{{Tool: "x", Text: value}}
				was, is := (&Layers{Static: before.For(who)}).Decide(v).Action, (&Layers{Static: after.For(who)}).Decide(v).Action
				if was == Deny && is != Deny {
					t.Errorf("%s: %+v: %s was denied and is %v by\n%s", text, who, value, is, edited)
				}
			}
		}
		if d := (&Layers{Static: after.For(Who{})}).Decide([]Value{{Tool: "x", Text: "look round"}}); !strings.HasPrefix(text, `{"when"`) && d.Action != Allow {
			t.Errorf("%s: not allowed by\n%s", text, edited)
		}
	}
}

var genBlock = rapid.Custom(func(t *rapid.T) Block {
	return Block{Agent: rapid.SampledFrom([]string{"", "", "reviewer", "other"}).Draw(t, "agent"), Unattended: rapid.Bool().Draw(t, "unattended")}
})

// A policy of several blocks forbids a session all that any block for it does, whatever
// the other blocks, the layers below, and the name of the agent allow.
func TestBlocksOfAPolicyOnlyNarrow(t *testing.T) {
	everything := MustRuleset(Rule{Tool: "*", Pattern: "*", Action: Allow}, Rule{Tool: "*", Pattern: "/**", Action: Allow})
	rapid.Check(t, func(t *rapid.T) {
		var list []Rule
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			r := genRule.Draw(t, "rule")
			r.Block = genBlock.Draw(t, "block")
			list = append(list, r)
		}
		file := MustRuleset(list...)
		who := Who{Agent: rapid.SampledFrom([]string{"", "reviewer", "other", "third"}).Draw(t, "who"), Unattended: rapid.Bool().Draw(t, "alone")}
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		var above []*Ruleset
		blocks, apart := file.Apart()
		for i, b := range blocks {
			if b.Has(who) {
				above = append(above, apart[i])
			}
		}
		l.Policies = above
		got := l.Decide(values).Action
		for _, one := range append([][]*Ruleset{above}, single(above)...) {
			if least := (&Layers{Policies: one, Static: everything, Held: l.Held}).Decide(values).Action; got < least {
				t.Fatalf("%v, and blocks of the policy say %v", got, least)
			}
		}
		// Whoever has another name, or none, is held by the rules that name nobody.
		plain := file.Without(func(r Rule) bool { return r.Block != Block{} })
		if least := (&Layers{Policies: []*Ruleset{plain}, Static: everything, Held: l.Held}).Decide(values).Action; got < least {
			t.Fatalf("%v, and the rules for all say %v", got, least)
		}
	})
}

func single(sets []*Ruleset) (all [][]*Ruleset) {
	for _, s := range sets {
		all = append(all, []*Ruleset{s})
	}
	return all
}
