package permission

import "testing"

// What a command may open is asked about where no sandbox holds it. What it
// names is denied all the same.
func TestHeld(t *testing.T) {
	static := rules(t, `{"*":"allow","write_file":"ask","edit_file":"deny","read_file":{"*":"allow","*.env":"deny"},"shell_exec":{"*":"allow","rm *":"deny"}}`)
	command := Value{Tool: "shell_exec", Text: "make"}
	for _, c := range []struct {
		name          string
		value         Value
		held, notHeld Action
	}{
		{"any file", Value{Tool: "read_file", Kind: Mentioned, Certainty: Unknown}, Allow, Ask},
		{"a named file", Value{Tool: "read_file", Text: ".env", Kind: Mentioned}, Deny, Deny},
		{"a redirection that is not known", Value{Tool: "read_file", Text: "$x", Kind: Outside, Certainty: Unknown}, Allow, Ask},
		{"one that no rule allows", Value{Tool: "edit_file", Text: "$x", Kind: Outside, Certainty: Unknown}, Deny, Deny},
		{"one that is asked about", Value{Tool: "write_file", Text: "$x", Kind: Outside, Certainty: Unknown}, Ask, Ask},
		{"the beginning of a command", Value{Tool: "shell_exec", Text: "rm ", Kind: Spelling, Certainty: Unknown}, Ask, Ask},
	} {
		for held, want := range map[bool]Action{true: c.held, false: c.notHeld} {
			l := Layers{Static: static, Held: held}
			if got := l.Decide([]Value{command, c.value}).Action; got != want {
				t.Errorf("%s, held %t: got %v, want %v", c.name, held, got, want)
			}
			for _, m := range l.Explain([]Value{c.value}).Values[0].Matches {
				if want == Allow && m.Rule.Action == Deny {
					t.Errorf("%s, held %t: the rule %v is about nothing", c.name, held, m.Rule)
				}
			}
		}
	}
}
