package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// "Always" never lifts a deny: it stands before the rule that denies a part of it.
func TestAllowNeverLiftsADeny(t *testing.T) {
	for _, c := range []struct {
		name, before, pattern, want string
	}{
		{"behind all", `{"shell_exec": {"*": "ask", "rm *": "deny"}}`, "go test *", `{"shell_exec": {"*": "ask", "rm *": "deny", "go test *": "allow"}}`},
		{"before the deny", `{"shell_exec": {"*": "ask", "git push *": "deny"}}`, "git *", `{"shell_exec": {"*": "ask", "git *": "allow", "git push *": "deny"}}`},
		{"a deny of all that is lifted already", `{"shell_exec": {"*": "deny", "git *": "ask"}}`, "git log *", `{"shell_exec": {"*": "deny", "git *": "ask", "git log *": "allow"}}`},
		{"lines and comments", "{\n  \"shell_exec\": {\n    \"*\": \"ask\", // all\n    // never\n    \"git push *\": \"deny\",\n  },\n}", "git *",
			"{\n  \"shell_exec\": {\n    \"*\": \"ask\", // all\n    \"git *\": \"allow\",\n    // never\n    \"git push *\": \"deny\",\n  },\n}"},
		{"a list of pairs", `[["shell_exec", [["*", "ask"], ["git push *", "deny"]]]]`, "git *", `[["shell_exec", [["*", "ask"], ["git *", "allow"], ["git push *", "deny"]]]]`},
		{"elsewhere: refused", `{"shell_exec": {"git push *": "deny"}, "x": "ask", "shell_*": {"git pull *": "ask"}}`, "git *", "denies"},
	} {
		got, err := allowJSON([]byte(c.before), "f", "shell_exec", []string{c.pattern})
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want && (err == nil || !strings.Contains(text, c.want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
}

// What trusted settings allow answers what would be asked: it lifts no deny of any layer, no ask of a
// policy, and adds none.
func TestGrantsOnlyAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, values := genLayers.Draw(t, "layers"), genValues.Draw(t, "values")
		l.Defaults, l.Repository, l.Trusted = genSet.Draw(t, "defaults"), genSet.Draw(t, "repository"), rapid.Bool().Draw(t, "trusted")
		before := l.Decide(values)
		with := l
		with.Granted = []*Ruleset{genSet.Draw(t, "granted")}
		got := with.Decide(values)
		lifts := got.Action < before.Action
		if before.Action == Deny && lifts || lifts && before.Layer == LayerPolicy || got.Action > before.Action {
			t.Fatalf("%+v became %+v", before, got)
		}
		if e := with.Explain(values); e.Decision != got {
			t.Fatalf("explained %+v, decided %+v", e.Decision, got)
		}
	})
}
