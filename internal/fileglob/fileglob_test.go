package fileglob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFileGlob(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		match    string // paths
		mismatch string
	}{
		{"*.go", "a.go x/a.go .go x/y/.z.go", "a.gox a.go/b"},
		{"a/*.go", "a/b.go", "b.go x/a/b.go a/b/c.go"},
		{"**/a", "a x/a x/y/a", "ba a/b"},
		{"a/**", "a/b a/b/c a", "b/a"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/b/b", "a/bx ab x/a/b"},
		{"**/a/**/b/*", "a/b/c x/a/y/b/b/c", "a/b a/b/c/d"},
		{"a**b", "ab axxb x/a.b", "a/b"},
		{"?", "a x/b é", "ab"},
		{"app/[id]/page.tsx", "app/[id]/page.tsx app/i/page.tsx", "app/x/page.tsx"},
		{"**/[[...slug]]/*.tsx", "app/[[...slug]]/a.tsx", "app/slug/a.tsx"},
		{"a?c/d", "abc/d", "a/c/d ac/d"},
		{"[a-c]x", "ax cx", "dx"},
		{"[!a-c]x", "dx éx", "ax é"},
		{"[^a]", "b", "a"},
		{`\*`, "* x/*", "a"},
		{`[\]]`, "]", "a"},
		{`\[!a]`, "[!a]", "b"},
		{`\{a,b\}`, "{a,b}", "a"},
		{"{a,b}", "a b x/b", "c {a,b}"},
		{"{a,b}{c,d}", "ac ad bc bd", "ab cd"},
		{"a{,b}", "a ab", "b"},
		{"{a}", "a", "{a}"},
		{"a}", "a}", "a"},
		{"{a,}", "a x/a", "b a/b"},
		{"{a,{b,c}d}e", "ae bde cde", "be ce"},
		{"[{,}]", "{ , }", "a"},
		{"x/{a,b/c}", "x/a x/b/c", "a x/b"},
		{"{a,b/c}", "a x/a b/c", "x/b/c"},
		{"./a", "a", "x/a"},
		{"a//b", "a/b", "ab"},
		{"a/", "a/b a/b/c", "b x/a/b"},
		{"**", "a a/b .a", ""},
		{"**/**/**/**/**/**/**/**/**/**/a", "a b/a", "b"},
	} {
		g, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("compileFileGlob(%q): %v", c.pattern, err)
			continue
		}
		for _, name := range strings.Fields(c.match) {
			if !g.Match(name) {
				t.Errorf("%q does not match %q, want a match", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.mismatch) {
			if g.Match(name) {
				t.Errorf("%q matches %q, want no match", c.pattern, name)
			}
		}
	}
}

// A glob agrees with its translation to a regular expression, which shares no
// code with it, and never leaves out a folder below which it matches.
func FuzzFileGlob(f *testing.F) {
	f.Add("**/*.{go,mod}", "a/b.go")
	f.Add("a/**/b/?[a-c]*", "a/x/b/yb")
	f.Add("{a,b/{c,}}**", "b/c/d")
	f.Add("[!a]/**", "b/c")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		// The oracle knows plain patterns: no escapes, no odd segments, simple classes.
		if len(pattern) > 40 || !plainPattern.MatchString(pattern) || strings.Contains(pattern, "..") || strings.HasSuffix(pattern, "/") || !plainName.MatchString(name) {
			g.Match(name)
			return
		}
		checkGlob(t, g, pattern, name)
	})
}

var (
	plainPattern = regexp.MustCompile(`^([a-c.*?{},/]|\[!?[a-c]+\])+$`)
	plainName    = regexp.MustCompile(`^(\.?[a-c]+\.?)(/\.?[a-c]+\.?)*$`)
)

// The same, with patterns that are made of what globs are made of.
func TestFileGlobOracle(t *testing.T) {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "*", "?", "**", "/", "/", "/**/", "{", ",", "}", "{a,b/}", "[ab]", "[!a]", "."}), 1, 10)
	names := rapid.StringMatching(`[abc]{1,3}(/[abc]{1,2}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := strings.Join(pieces.Draw(t, "pattern"), ""), names.Draw(t, "name")
		g, err := Compile(pattern)
		if err != nil || strings.Contains(pattern, "..") || strings.HasSuffix(pattern, "/") {
			return
		}
		checkGlob(t, g, pattern, name)
	})
}

func checkGlob(t rapid.TB, g *Glob, pattern, name string) {
	want := false
	for _, p := range oracleBraces(pattern) {
		want = want || regexp.MustCompile(oracleGlob(p)).MatchString("/"+name)
	}
	if got := g.Match(name); got != want {
		t.Fatalf("%q matches %q: got %v, want %v", pattern, name, got, want)
	}
	for i, c := range name {
		if want && c == '/' && !g.MayMatchBelow(name[:i]) {
			t.Fatalf("%q matches %q, but is said not to match below %q", pattern, name, name[:i])
		}
	}
}

var innermost = regexp.MustCompile(`^(.*)\{([^{}]*)\}(.*)$`)

// oracleBraces expands the last innermost braces first.
func oracleBraces(p string) []string {
	m := innermost.FindStringSubmatch(p)
	if m == nil {
		return []string{p}
	}
	var all []string
	for alternative := range strings.SplitSeq(m[2], ",") {
		all = append(all, oracleBraces(m[1]+alternative+m[3])...)
	}
	return all
}

// oracleGlob translates a pattern without braces, for names with a slash put
// in front.
func oracleGlob(p string) string {
	if p != "" && !strings.Contains(p, "/") {
		p = "**/" + p
	}
	re := "^"
	for s := range strings.SplitSeq(p, "/") {
		switch s {
		case "", ".":
		case "**":
			re += "(/[^/]+)*"
		default:
			re += "/" + oracleSegment.Replace(s)
		}
	}
	return re + "$"
}

var oracleSegment = strings.NewReplacer(".", `\.`, "*", "[^/]*", "?", "[^/]", "[!", "[^/", "{", `\{`, "}", `\}`)
