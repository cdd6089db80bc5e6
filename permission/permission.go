package permission

import (
	"cmp"
	"fmt"
	"slices"
)

// Action is what a rule says of a call.
type Action uint8

// The actions, in the order of how restrictive they are: of several the
// greatest wins. The zero Action is none of them.
const (
	Allow Action = iota + 1
	Ask
	Deny
)

// ParseAction returns the action that s spells: "allow", "ask" or "deny".
func ParseAction(s string) (Action, error) {
	switch s {
	case "allow":
		return Allow, nil
	case "ask":
		return Ask, nil
	case "deny":
		return Deny, nil
	}
	return 0, fmt.Errorf("unknown action %q (use allow, ask or deny)", s)
}

// String returns the action's word, "none" for the zero Action.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "none"
}

// MarshalText returns the action's word. The zero Action has none.
func (a Action) MarshalText() ([]byte, error) {
	if a < Allow || a > Deny {
		return nil, fmt.Errorf("action %d has no word", a)
	}
	return []byte(a.String()), nil
}

// UnmarshalText is [ParseAction].
func (a *Action) UnmarshalText(text []byte) error {
	parsed, err := ParseAction(string(text))
	if err == nil {
		*a = parsed
	}
	return err
}

// Value is one thing a tool call wants, as patterns see it.
//
// A call that wants nothing in particular has a value with the Text "*", which
// patterns for everything match.
type Value struct {
	// Tool is the tool whose rules decide about the value. It differs from the tool
	// that is called where a shell command reads or writes a file: that is a
	// value of read_file or write_file.
	Tool string

	// Text is what patterns are matched against: for a file the cleaned,
	// slash-separated path relative to the workspace, for a shell command its
	// normalised words, else what the tool chose.
	Text string

	// Abs is the absolute path of a file. Patterns that begin with "/" are
	// matched against it instead of Text. Empty means no file.
	Abs string

	Kind      Kind
	Certainty Certainty

	// Written is the part of a shell command that this value is about, in its
	// own spelling. Empty means it was not written as such, or Text says it.
	Written string

	// Always is the pattern that "always" adds for a command of the shell. Empty
	// means the one that matches only Text.
	Always string

	// With are the assignments, here-documents and loop items that a command
	// depends on, as they are written, separated by "; ".
	With string

	// Why says why a value is unknown, and how it could be written instead.
	Why string

	// script is the file that the value was found in; nil means that it stood in the line itself.
	// For a value of a script, patterns match the text of matched.
	script  *script
	matched string
}

// script is a file whose commands are values of a call.
type script struct {
	reads []Value // what reading it is to the rules
}

// InScript returns the values for what a script file holds. The same patterns match them, unless
// the rules deny reads, the values of reading the file: then nothing of it is looked at. Text
// names the file, so that nothing which shows a value quotes the file.
func InScript(path string, reads, values []Value) []Value {
	of := &script{reads}
	out := make([]Value, len(values))
	for i, v := range values {
		out[i] = v.inScript(of, path)
	}
	return out
}

func (v Value) inScript(of *script, path string) Value {
	v.script, v.matched = of, v.Text
	v.Text, v.Written, v.Always, v.With, v.Why = "a command of the script "+path, "", "", "", ""
	return v
}

// Kind says which rules are about a value. The kinds from [Mentioned] on can
// only refuse the call. A rule that denies them counts; a rule that allows or
// asks does not, and neither does the lack of one.
type Kind uint8

const (
	// Wanted is what the call wants: all rules count.
	Wanted Kind = iota

	// Outside is a wanted file outside of the workspace. Rules about the
	// workspace's files do not allow it: only a rule with an absolute pattern
	// does. If it is unknown, so is the place.
	Outside

	// Mentioned is what the call may touch besides. So a rule against reading
	// ".env" holds for the command "cat .env", and no rule has to allow reading
	// README.md for "cat README.md".
	Mentioned

	// Folded is a mentioned file on a file system that takes names in any case.
	// Its Text and Abs are in lower case, and patterns are compared as if they
	// were too.
	Folded

	// Spelling is another way to write a command, which is a value of its own. A
	// rule that names a command covers all of its spellings; a rule that denies
	// everything covers only the written one.
	Spelling

	// Line is a whole command line, whose commands are values of their own. Only
	// a rule that denies, and whose pattern has an operator of the shell in it, is
	// about lines: "curl * | sh", ":(){ :|:& };:".
	Line

	// Reached is a host that a call reaches whose own values are judged apart from it, as the
	// host of a URL. A rule that denies hosts counts; one that denies all tools does not.
	Reached
)

// Certainty says whether the call will want the value.
type Certainty uint8

const (
	Certain Certainty = iota

	// Possible is what the call may or may not want: git shows the files that
	// changed, whichever those are. Where a rule denies it, a person is asked.
	Possible

	// Unknown is what cannot be known before the call runs. A person is asked
	// before a wanted value is allowed. Otherwise Text is the beginning: the
	// call is asked about if a rule might deny what follows. For a file it is
	// also asked about if no sandbox holds the call to the rules.
	Unknown
)

// OnlyDenies reports whether the value can refuse the call and nothing else.
func (v Value) OnlyDenies() bool { return v.Kind >= Mentioned }

// unknownFile reports whether the value is a file that is not known.
func (v *Value) unknownFile() bool {
	return v.Certainty == Unknown && v.Kind >= Outside && v.Kind <= Folded
}

// Operators are characters of the shell. A line with more than one command in
// it has at least one of them.
const Operators = "|;&<>\n"

// Patterns returns what a call wants, for the person who is asked. These are
// the texts of its values, and shell commands in their own spelling with what
// they depend on. It leaves out values that can only deny.
func Patterns(values []Value) []string {
	var patterns []string
	for _, v := range values {
		text := cmp.Or(v.Written, v.Text)
		if v.With != "" {
			text += "   where " + v.With
		}
		if !v.OnlyDenies() && !slices.Contains(patterns, text) {
			patterns = append(patterns, text)
		}
	}
	return patterns
}
