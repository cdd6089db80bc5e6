package permission

import (
	"testing"

	"pgregory.net/rapid"
)

// One truth: what is explained is what is decided, and of each value too.
func TestExplainIsDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		e, d := l.Explain(values), l.Decide(values)
		if e.Decision != d {
			t.Fatalf("explained %+v, decided %+v", e.Decision, d)
		}
		if len(e.Values) != len(values) {
			t.Fatalf("%d of %d values explained", len(e.Values), len(values))
		}
		for i, v := range e.Values {
			alone := l.Decide(values[i : i+1])
			if v.Decision.Action != 0 && (v.Decision.Action != alone.Action || v.Decision.Rule != alone.Rule) {
				t.Fatalf("value %d: explained %+v, decided alone %+v", i, v.Decision, alone)
			}
			wins := 0
			for _, m := range v.Matches {
				if m.Wins {
					wins++
					if m.Rule != *v.Decision.Rule || m.Layer != v.Decision.Layer {
						t.Fatalf("value %d: %+v wins, decided by %+v", i, m, v.Decision)
					}
				}
			}
			if v.Decision.Rule != nil && wins != 1 || v.Decision.Rule == nil && wins != 0 {
				t.Fatalf("value %d: %d rules win, decision %+v, matches %+v", i, wins, v.Decision, v.Matches)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	l := Layers{
		Agents: []*Ruleset{rules(t, `{"*":"allow"}`), nil, rules(t, `{"*":"allow","read_file":{"*.env":"deny"}}`)},
		Static: rules(t, `{"read_file":{"*":"allow","a*":"ask"}}`),
	}
	e := l.Explain([]Value{{Tool: "read_file", Text: "a.env"}, {Tool: "read_file", Text: "b"}, {Tool: "x", Text: "y", Kind: Mentioned}})
	if e.Decision.Action != Deny || e.Decision.Layer != LayerAgent || e.Decision.Value.Text != "a.env" {
		t.Errorf("got %+v, want a deny of the agent layer for a.env", e.Decision)
	}
	first := e.Values[0].Matches
	if len(first) != 5 || first[2].Agent != 2 || !first[2].Wins || first[2].Rule.Pattern != "*.env" || first[4].Layer != LayerStatic {
		t.Errorf("a.env: got %+v, want five matches of which the agent's third wins", first)
	}
	if b := e.Values[1]; b.Decision.Action != Allow || b.Decision.Layer != LayerStatic || !b.Matches[len(b.Matches)-1].Wins {
		t.Errorf("b: got %+v, want what the static layer allows", b)
	}
	if x := e.Values[2]; x.Decision.Action != 0 {
		t.Errorf("a value that can only deny: got %+v, want no say", x.Decision)
	}
	if e := (&Layers{}).Explain(nil); e.Decision.Action != Ask || len(e.Values) != 0 {
		t.Errorf("no values: got %+v, want ask", e)
	}
}
