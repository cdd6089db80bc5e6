package permission

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func parseYAMLText(t testing.TB, text string, opts *ParseOptions) (*Ruleset, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	return ParseYAML(&doc, "a.md", opts)
}

func listRules(r *Ruleset) string {
	var b strings.Builder
	for rule := range r.Rules() {
		b.WriteString(rule.Tool + "|" + rule.Pattern + "|" + rule.Action.String() + "|" + rule.Source.String() + "\n")
	}
	return b.String()
}

func TestParseYAML(t *testing.T) {
	r, err := parseYAMLText(t, "\"*\": deny\nread_file:\n  \"*\": allow\n  ~/x/*: ask\n  $HOME/y: &a deny\nz: *a\n\"*\": ask\n", &ParseOptions{LineOffset: 4, Home: "/home/u[1]"})
	if err != nil {
		t.Fatal(err)
	}
	want := "*|*|deny|a.md:5\nread_file|*|allow|a.md:7\nread_file|/home/u\\[1\\]/x/*|ask|a.md:8\nread_file|/home/u\\[1\\]/y|deny|a.md:9\nz|*|deny|a.md:10\n*|*|ask|a.md:11\n"
	if got := listRules(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for text, want := range map[string]string{
		"a: alow":                 `a.md:1:4: unknown action "alow" (use allow, ask or deny)`,
		"a:\n  x: Deny":           `a.md:2:6: unknown action "Deny"`,
		"a: [x]":                  "a.md:1:4: a: want an action",
		"a:\n  x: {y: deny}":      "a.md:2:6: x: want an action",
		"- a":                     "a.md:1:1: want a mapping of tools to actions, got a list",
		"a":                       `a.md:1:1: want a mapping of tools to actions, got "a"`,
		"a:":                      "a.md:1:3: a: want an action (allow, ask or deny), got nothing",
		"a: {'[z-a]': deny}":      "a.md:1:5: rule a: {\"[z-a]\": deny}: pattern: pattern \"[z-a]\", offset",
		"a: deny\n'[z-a]': {}":    "a.md:2:1: tool: pattern \"[z-a]\", offset",
		"b: &x {y: deny}\n<<: *x": "a.md:2:1: want a tool, got a merge key",
	} {
		if _, err := parseYAMLText(t, text, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "{}", "null"} {
		if r, err := parseYAMLText(t, text, nil); err != nil || r.Len() != 0 {
			t.Errorf("%q: got %v, %v, want the empty ruleset", text, r, err)
		}
	}
	if r, err := ParseYAML(nil, "a.md", nil); err != nil || r.Len() != 0 {
		t.Errorf("nil: got %v, %v, want the empty ruleset", r, err)
	}
}

func TestParseJSON(t *testing.T) {
	object := "{ // first\n \"b\": \"deny\", \"a\": {\"x\": \"allow\", \"*\": \"ask\", \"x\": \"deny\",},\n}"
	list := `[["b","deny"],["a",[["x","allow"],["*","ask"],["x","deny"]]]]`
	mixed := `[["b","deny"],["a",{"x":"allow","*":"ask","x":"deny"}]]`
	for _, text := range []string{object, list, mixed} {
		r, err := ParseJSON([]byte(text), "f", nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for rule := range r.Rules() {
			got = append(got, rule.Tool+" "+rule.Pattern+" "+rule.Action.String())
		}
		if s := strings.Join(got, ", "); s != "b * deny, a x allow, a * ask, a x deny" {
			t.Errorf("%s: got %s", text, s)
		}
	}
	for text, want := range map[string]string{
		"":                         "f:1:1: ",
		"{\n  \"a\": }":            "f:2:8: ",
		"{\n  \"a\": \"alow\"\n}":  `f:2:8: unknown action "alow" (use allow, ask or deny)`,
		"{\"a\": 1}":               `f:1:7: a: want an action`,
		"{\"a\": {\"x\": [1]}}":    `f:1:13: x: want an action`,
		"[[\"a\"]]":                `f:1:2: want a pair ["tool", …]`,
		"[[\"a\",[[1,\"deny\"]]]]": `f:1:8: want a pair ["pattern", …]`,
		"\"x\"":                    "f:1:1: want an object",
		"{\"\": \"deny\"}":         "f:1:2: rule : {\"*\": deny}: tool: pattern \"\", offset 0: is empty",
	} {
		if _, err := ParseJSON([]byte(text), "f", nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestActionText(t *testing.T) {
	for _, a := range []Action{Allow, Ask, Deny} {
		text, err := a.MarshalText()
		var back Action
		if err != nil || back.UnmarshalText(text) != nil || back != a {
			t.Errorf("%v: got %s, %v, %v", a, text, err, back)
		}
	}
	if _, err := Action(0).MarshalText(); err == nil {
		t.Error("the zero action has a word")
	}
	if _, err := ParseAction("Allow"); err == nil {
		t.Error(`"Allow" is an action`)
	}
}

func FuzzParseYAML(f *testing.F) {
	f.Add("a: deny\nb: {x: allow}")
	f.Add("a: &x deny\nb: *x")
	f.Add("&a a: {*a : deny}")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseYAMLText(t, text, nil)
		if err == nil {
			r.DeniesAll("a")
		}
	})
}

// What can be read in one form means the same in the other.
func FuzzParseJSON(f *testing.F) {
	f.Add(string(DefaultsText))
	f.Add(`[["a",[["x","deny"]]],["b","ask"]]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseJSON([]byte(text), "f", nil)
		if err != nil {
			return
		}
		for rule := range r.Rules() {
			if rule.Source.Line < 1 || rule.Source.Column < 1 {
				t.Errorf("%q: rule %v has no place", text, rule)
			}
		}
		if _, err := r.Append(Rule{Tool: "a", Pattern: "*", Action: Deny}); err != nil {
			t.Error(err)
		}
	})
}
