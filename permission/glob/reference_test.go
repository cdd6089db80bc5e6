package glob

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// atom is a part of a pattern, as the slow matcher reads it.
type atom struct {
	text   string   // as written
	one    string   // a character of these; "!…": any other but "/"
	star   bool     // any text
	either [][]atom // one of these
}

// slowMatch matches by trying everything. It shares no code with Glob, and
// knows the part of the dialect that has no exceptions: patterns without "/".
func slowMatch(atoms []atom, s string) bool {
	if len(atoms) == 0 {
		return s == ""
	}
	a, rest := atoms[0], atoms[1:]
	switch {
	case a.star:
		for i := range len(s) + 1 {
			if slowMatch(rest, s[i:]) {
				return true
			}
		}
		return false
	case a.either != nil:
		for _, e := range a.either {
			if slowMatch(append(append([]atom{}, e...), rest...), s) {
				return true
			}
		}
		return false
	case s == "":
		return false
	}
	in := strings.IndexByte(strings.TrimPrefix(a.one, "!"), s[0]) >= 0
	if a.one[0] == '!' {
		in = !in && s[0] != '/'
	}
	return in && slowMatch(rest, s[1:])
}

var (
	simpleAtoms = []atom{
		{text: "a", one: "a"}, {text: "b", one: "b"}, {text: ".", one: "."}, {text: "-", one: "-"}, {text: " ", one: " "}, {text: `\*`, one: "*"},
		{text: "*", star: true}, {text: "**", star: true}, {text: "?", one: "!"}, {text: "[ab]", one: "ab"}, {text: "[a-c]", one: "abc"},
		{text: "[!a]", one: "!a"}, {text: "[^ab]", one: "!ab"},
	}
	genAtom = rapid.Custom(func(t *rapid.T) atom {
		simple := rapid.SampledFrom(simpleAtoms)
		if rapid.IntRange(0, 20).Draw(t, "bar") == 0 {
			return atom{text: "|", one: "|"} // in a group it would divide that
		}
		if rapid.IntRange(0, 5).Draw(t, "group") > 0 {
			return simple.Draw(t, "atom")
		}
		group := atom{text: "{"}
		for i := range rapid.IntRange(2, 3).Draw(t, "alternatives") {
			e := rapid.SliceOfN(simple, 1, 2).Draw(t, "alternative")
			group.either = append(group.either, e)
			if i > 0 {
				group.text += ","
			}
			group.text += patternOf(e)
		}
		group.text += "}"
		return group
	})
)

func patternOf(atoms []atom) string {
	var b strings.Builder
	for _, a := range atoms {
		b.WriteString(a.text)
	}
	return b.String()
}

func TestGlobAgainstSlowMatcher(t *testing.T) {
	rapid.Check(t, slowProperty)
}

func FuzzGlobAgainstSlowMatcher(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(slowProperty))
}

func slowProperty(t *rapid.T) {
	atoms := rapid.SliceOfN(genAtom, 1, 5).Draw(t, "pattern")
	pattern := patternOf(atoms)
	input := rapid.StringOfN(rapid.SampledFrom([]rune("aabbc.- */|\n")), 1, 8, -1).Draw(t, "input")
	if strings.HasSuffix(input, "/") || strings.HasSuffix(input, ".") { // "/" is optional after some patterns; ".*" is no "."
		return
	}
	g, err := Compile(pattern)
	if err != nil {
		return // such as "[ab]*", refused or not: what is compiled must agree
	}
	if got, want := g.Match(input), slowMatch(atoms, input) || input == pattern; got != want {
		t.Fatalf("%q on %q: got %v, want %v", pattern, input, got, want)
	}
}
