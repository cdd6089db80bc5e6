package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission/internal/samples"
	"pgregory.net/rapid"
)

type decideVector struct {
	Agent    json.RawMessage
	Static   json.RawMessage
	Runtime  [][2]string
	Tool     string
	Values   []string
	Expected Action
}

func TestDecideAgreesWithVectors(t *testing.T) {
	for i, v := range samples.Read[decideVector](t, "../testdata/permission/permission_sample.jsonl") {
		var l Layers
		parse := func(data json.RawMessage) *Ruleset {
			r, err := ParseJSON(data, "vector", nil)
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			return r
		}
		if string(v.Agent) != "null" {
			l.Agents = []*Ruleset{parse(v.Agent)}
		}
		l.Static = parse(v.Static)
		var runtime []Rule
		for _, r := range v.Runtime {
			runtime = append(runtime, Rule{Tool: r[0], Pattern: r[1], Action: Allow, Source: Source{File: "runtime"}})
		}
		l.Runtime = MustRuleset(runtime...)
		if len(v.Values) == 0 {
			v.Values = []string{"*"} // the call as such
		}
		var values []Value
		for _, text := range v.Values {
			values = append(values, Value{Tool: v.Tool, Text: text})
		}
		if d := l.Decide(values); d.Action != v.Expected {
			t.Errorf("line %d: got %v (%s), want %v", i+1, d.Action, d.Reason(), v.Expected)
		}
	}
}

func rules(t testing.TB, text string) *Ruleset {
	t.Helper()
	r, err := ParseJSON([]byte(text), "rules", &ParseOptions{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecide(t *testing.T) {
	file := func(text, abs string) Value { return Value{Tool: "read_file", Text: text, Abs: abs} }
	for _, c := range []struct {
		name          string
		agent, static string
		values        []Value
		want          Action
		layer         Layer
	}{
		{"no values", `{}`, `{"*":"allow"}`, nil, Ask, LayerDefault},
		{"no match", `{}`, `{"a":"allow"}`, []Value{{Tool: "b", Text: "x"}}, Ask, LayerDefault},
		{"absolute pattern on the absolute path", `{}`, `{"*":"allow","read_file":{"/ws/x":"deny"}}`, []Value{file("x", "/ws/x")}, Deny, LayerStatic},
		{"absolute pattern without one", `{}`, `{"*":"allow","read_file":{"/x":"deny"}}`, []Value{file("/x", "")}, Deny, LayerStatic},
		{"home", `{}`, `{"*":"allow","read_file":{"~/.ssh/**":"deny"}}`, []Value{file("/home/u/.ssh/id", "/home/u/.ssh/id")}, Deny, LayerStatic},
		{"a relative pattern not on the absolute path", `{}`, `{"*":"allow","read_file":{"ws/*":"deny"}}`, []Value{file("x", "ws/x")}, Allow, LayerStatic},
		{"the most restrictive value", `{}`, `{"*":"allow","read_file":{"b":"ask"}}`, []Value{file("a", ""), file("b", ""), file("c", "")}, Ask, LayerStatic},
		{"unknown", `{}`, `{"*":"allow"}`, []Value{{Tool: "a", Text: "x", Certainty: Unknown}}, Ask, LayerDefault},
		{"unknown and denied", `{"*":"deny"}`, `{"*":"allow"}`, []Value{{Tool: "a", Text: "x", Certainty: Unknown}}, Deny, LayerAgent},
		{"deny only: allowed does not count", `{}`, `{"*":"ask","a":"allow"}`, []Value{{Tool: "a", Text: "x"}, {Tool: "b", Text: "x", Kind: Mentioned}}, Allow, LayerStatic},
		{"deny only: denied counts", `{}`, `{"*":"ask","a":"allow","b":"deny"}`, []Value{{Tool: "a", Text: "x"}, {Tool: "b", Text: "x", Kind: Mentioned}}, Deny, LayerStatic},
		{"deny only alone", `{}`, `{"*":"allow"}`, []Value{{Tool: "b", Text: "x", Kind: Mentioned}}, Ask, LayerDefault},
		{"beginning that may be denied", `{}`, `{"*":"allow","a":{"rm -rf *":"deny"}}`, []Value{{Tool: "a", Text: "rm "}, {Tool: "a", Text: "rm ", Kind: Mentioned, Certainty: Unknown}}, Ask, LayerStatic},
		{"beginning that may not", `{}`, `{"*":"allow","a":{"rm -rf *":"deny"}}`, []Value{{Tool: "a", Text: "ls "}, {Tool: "a", Text: "ls ", Kind: Mentioned, Certainty: Unknown}}, Allow, LayerStatic},
		{"the empty text is part of all", `{"*":"deny"}`, `{}`, []Value{{Tool: "a"}}, Deny, LayerAgent},
		{"possible: denied is asked", `{"a":{"x":"deny"}}`, `{"*":"allow"}`, []Value{{Tool: "b", Text: "y"}, {Tool: "a", Text: "x", Kind: Mentioned, Certainty: Possible}}, Ask, LayerAgent},
		{"possible: allowed does not count", `{}`, `{"b":"allow","a":"ask"}`, []Value{{Tool: "b", Text: "y"}, {Tool: "a", Text: "x", Kind: Mentioned, Certainty: Possible}}, Allow, LayerStatic},
		{"outside: no pattern of the workspace allows", `{}`, `{"*":"allow"}`, []Value{{Tool: "a", Text: "/r/x", Abs: "/r/x", Kind: Outside}}, Ask, LayerDefault},
		{"outside: an absolute one does", `{}`, `{"a":{"/r/*":"allow","*":"allow"}}`, []Value{{Tool: "a", Text: "/r/x", Abs: "/r/x", Kind: Outside}}, Allow, LayerStatic},
		{"outside: any denies", `{}`, `{"a":{"/r/*":"allow","*x":"deny"}}`, []Value{{Tool: "a", Text: "/r/x", Abs: "/r/x", Kind: Outside}}, Deny, LayerStatic},
		{"folded: patterns in any case", `{}`, `{"*":"allow","a":{"*.ENV":"deny"}}`, []Value{{Tool: "a", Text: "x"}, {Tool: "a", Text: ".env", Kind: Folded}}, Deny, LayerStatic},
		{"folded: ranges that would turn round", `{}`, `{"*":"allow","a":{"[A-z]":"deny"}}`, []Value{{Tool: "a", Text: "X"}, {Tool: "a", Text: "x", Kind: Folded}}, Deny, LayerStatic},
		{"spelling: a deny of all hides no deny before it", `{}`, `{"*":"allow","a":{"x":"deny","*":"deny"}}`, []Value{{Tool: "b", Text: "y"}, {Tool: "a", Text: "x", Kind: Spelling}}, Deny, LayerStatic},
		{"spelling that may be denied: likewise", `{}`, `{"*":"allow","a":{"xy":"deny","*":"deny"}}`, []Value{{Tool: "b", Text: "y"}, {Tool: "a", Text: "x", Kind: Spelling, Certainty: Unknown}}, Ask, LayerStatic},
		{"composed and decomposed", `{}`, `{"*":"allow","a":{"é*":"deny"}}`, []Value{{Tool: "a", Text: "e\u0301x"}}, Deny, LayerStatic},
	} {
		l := Layers{Agents: []*Ruleset{nil, rules(t, c.agent)}, Static: rules(t, c.static)}
		d := l.Decide(c.values)
		if d.Action != c.want || d.Layer != c.layer {
			t.Errorf("%s: got %v by %s (%s), want %v by %s", c.name, d.Action, d.Layer, d.Reason(), c.want, c.layer)
		}
	}
}

func TestReason(t *testing.T) {
	l := Layers{Agents: []*Ruleset{rules(t, "{\n\"read_file\": {\"*\": \"allow\",\n\"*.env\": \"deny\"}}")}}
	got := l.Decide([]Value{{Tool: "read_file", Text: "a.env"}}).Reason()
	for _, want := range []string{"read_file", "a.env", `"*.env": deny`, "rules:3", "nobody can approve"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// TestReasonOfCaller: a rule of the agent's callers is told from one of its own.
func TestReasonOfCaller(t *testing.T) {
	for _, c := range []struct {
		above, own string
		callers    int
		want       string
	}{
		{`{"write_file":"deny"}`, `{"*":"allow"}`, 1, "It is a rule of the agent's caller, which holds for those that it calls: nobody can approve the call."},
		{`{"*":"allow"}`, `{"write_file":"deny"}`, 1, "It is a rule of the agent: nobody can approve the call."},
		{`{"write_file":"deny"}`, `{"write_file":"deny"}`, 0, "It is a rule of the agent: nobody can approve the call."},
	} {
		l := Layers{Agents: []*Ruleset{rules(t, c.above), rules(t, c.own)}, Callers: c.callers}
		for _, text := range []string{"x", "write_file"} {
			got := l.Decide([]Value{{Tool: "write_file", Text: text}}).Reason()
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("%s below %s: got %q, want %q at its end", c.own, c.above, got, c.want)
			}
			if twice := strings.Contains(got, `write_file "write_file"`); twice {
				t.Errorf("got %q: all calls are meant, not one of that name", got)
			}
		}
	}
}

func TestDeniesAll(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`:                                false,
		`{"*":"deny"}`:                      true,
		`{"*":"deny","a":"allow"}`:          false,
		`{"*":"deny","b":"allow"}`:          true,
		`{"a":{"x":"deny"}}`:                false,
		`{"a":{"*":"deny","x":"ask"}}`:      false,
		`{"a":{"x":"ask","**":"deny"}}`:     true,
		`{"a":"allow","?":{"**/*":"deny"}}`: true,
	} {
		if got := rules(t, text).DeniesAll("a"); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if (*Ruleset)(nil).DeniesAll("a") || (*Ruleset)(nil).Len() != 0 {
		t.Error("the nil ruleset is not empty")
	}
	for range (*Ruleset)(nil).Rules() {
		t.Error("the nil ruleset has a rule")
	}
	if r, err := (*Ruleset)(nil).Append(Rule{Tool: "a", Pattern: "*", Action: Deny}); err != nil || r.Len() != 1 {
		t.Errorf("Append to nil: %v, %v", r, err)
	}
}

// Generators of rulesets and values that often meet.
var (
	genTool = rapid.SampledFrom([]string{"a", "b", "*", "?", "{a,b}"})
	genPat  = rapid.SampledFrom([]string{"*", "x", "x*", "*y", "**/y", "x/**", "?", "[xy]", "!x", "/*", "/r/x", "{x,y}"})
	genText = rapid.SampledFrom([]string{"x", "y", "x/y", "xy", "/r/x", "q", ""})
	genAct  = rapid.SampledFrom([]Action{Allow, Ask, Deny})
	genRule = rapid.Custom(func(t *rapid.T) Rule {
		return Rule{Tool: genTool.Draw(t, "tool"), Pattern: genPat.Draw(t, "pattern"), Action: genAct.Draw(t, "action")}
	})
	genSet = rapid.Custom(func(t *rapid.T) *Ruleset {
		return MustRuleset(rapid.SliceOfN(genRule, 0, 6).Draw(t, "rules")...)
	})
	genValue = rapid.Custom(func(t *rapid.T) Value {
		v := Value{Tool: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tool"), Text: genText.Draw(t, "text")}
		if rapid.Bool().Draw(t, "file") {
			v.Abs = "/r/" + v.Text
		}
		v.Kind = rapid.SampledFrom([]Kind{Wanted, Wanted, Outside, Mentioned, Spelling, Line}).Draw(t, "kind")
		v.Certainty = rapid.SampledFrom([]Certainty{Certain, Certain, Possible, Unknown}).Draw(t, "certainty")
		if rapid.IntRange(0, 5).Draw(t, "folded") == 0 {
			v = v.InLowerCase()
		}
		return v
	})
	genValues = rapid.SliceOfN(genValue, 0, 4)
	genLayers = rapid.Custom(func(t *rapid.T) Layers {
		return Layers{Policies: rapid.SliceOfN(genSet, 0, 2).Draw(t, "policies"), Agents: rapid.SliceOfN(genSet, 0, 3).Draw(t, "agents"), Static: genSet.Draw(t, "static"), Runtime: genSet.Draw(t, "runtime"), Held: rapid.Bool().Draw(t, "held")}
	})
)

func TestNothingLiftsAnAgentDeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agents, values, held := rapid.SliceOfN(genSet, 1, 3).Draw(t, "agents"), genValues.Draw(t, "values"), rapid.Bool().Draw(t, "held")
		if d := (&Layers{Agents: agents, Held: held}).Decide(values); d.Action != Deny {
			return
		}
		l := Layers{Agents: agents, Static: genSet.Draw(t, "static"), Runtime: genSet.Draw(t, "runtime"), Held: held}
		if d := l.Decide(values); d.Action != Deny {
			t.Fatalf("static and runtime rules made an agent's deny %v", d.Action)
		}
	})
}

func TestChildIsNeverLooser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		if len(l.Agents) == 0 {
			return // no agent layer is not a parent
		}
		parent := l.Decide(values).Action
		l.Agents = append(l.Agents, genSet.Draw(t, "child"))
		if child := l.Decide(values).Action; child < parent {
			t.Fatalf("the parent's %v became %v below", parent, child)
		}
	})
}

func TestOneMoreDenyNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		before := l.Decide(values).Action
		deny := genRule.Draw(t, "deny")
		deny.Action = Deny
		add := func(r *Ruleset) *Ruleset {
			at := rapid.IntRange(0, r.Len()).Draw(t, "at")
			var list []Rule
			for rule := range r.Rules() {
				if len(list) == at {
					list = append(list, deny)
				}
				list = append(list, rule)
			}
			if r.Len() == at {
				list = append(list, deny)
			}
			return MustRuleset(list...)
		}
		switch which := rapid.IntRange(-2, len(l.Agents)-1).Draw(t, "layer"); which {
		case -2:
			l.Static = add(l.Static)
		case -1:
			l.Runtime = add(l.Runtime)
		default:
			l.Agents[which] = add(l.Agents[which])
		}
		if after := l.Decide(values).Action; after < before {
			t.Fatalf("one more deny made %v %v", before, after)
		}
	})
}

// The layers' order, against a decision made in the plainest way.
func TestDecideAgainstPlainReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, v := genLayers.Draw(t, "layers"), genValue.Draw(t, "value")
		v.Certainty = Certain
		if v.OnlyDenies() && v.Kind != Folded {
			v.Kind = Wanted
		}
		last := func(sets ...*Ruleset) Action {
			action := Ask
			for _, s := range sets {
				for r := range s.Rules() {
					one := MustRuleset(r)
					if one.last(&v) != nil {
						action = r.Action
					}
				}
			}
			return action
		}
		want := Action(0)
		agents := l.Agents
		if len(agents) == 0 {
			agents = []*Ruleset{nil}
		}
		for _, a := range agents {
			w := last(a, l.Static, l.Runtime)
			if last(a) == Deny {
				w = Deny
			}
			want = max(want, w)
		}
		for _, p := range l.Policies {
			for r := range p.Rules() { // one that matches: then the last of these counts
				if MustRuleset(r).last(&v) != nil {
					want = max(want, last(p))
					break
				}
			}
		}
		if v.OnlyDenies() && want != Deny { // no say
			want = Ask
		}
		if got := l.Decide([]Value{v}).Action; got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func benchRules(b *testing.B, n int) *Ruleset {
	var list []Rule
	pats := []string{"*", "*.env", "src/**", "*secret*", "docs/{a,b}/*.md", "*.pem", "git push *", "[ab]*.go", "package.json", "**/x/*"}
	for i := range n {
		p := pats[i%len(pats)]
		if i >= len(pats) {
			p = fmt.Sprintf("%d/%s", i, p)
		}
		list = append(list, Rule{Tool: []string{"read_file", "write_file", "*"}[i%3], Pattern: p, Action: Deny})
	}
	list[0] = Rule{Tool: "*", Pattern: "*", Action: Allow}
	r, err := NewRuleset(list...)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 30, 100, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			l := Layers{Agents: []*Ruleset{Defaults()}, Static: benchRules(b, n)}
			values := []Value{{Tool: "read_file", Text: "internal/server/handler.go", Abs: "/home/u/ws/internal/server/handler.go"}}
			b.ReportAllocs()
			for b.Loop() {
				if l.Decide(values).Action != Allow {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	l := Layers{Agents: []*Ruleset{Defaults()}, Static: Defaults()}
	for _, text := range []string{"src/main.go", "a/.env"} {
		values := []Value{{Tool: "read_file", Text: text, Abs: "/ws/" + text}}
		if n := testing.AllocsPerRun(100, func() { l.Decide(values) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", text, n)
		}
	}
}

// The rule is written with a combining accent, the value is not: both are
// compared in Unicode's form NFC.
func TestDecideSuspectsInNFC(t *testing.T) {
	layers := Layers{Static: rules(t, "{\"read_file\": {\"*\": \"allow\", \"e\u0301tat*\": \"deny\"}}")}
	d := layers.Decide([]Value{{Tool: "read_file", Text: "\u00e9t", Kind: Mentioned, Certainty: Unknown}})
	if d.Action != Ask || d.Rule == nil {
		t.Errorf("got %v by %v, want ask by the rule that might deny it", d.Action, d.Rule)
	}
}
