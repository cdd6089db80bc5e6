package glob

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/permission/internal/samples"
)

type globVector struct {
	Pattern, Input, Class, Tier string
	Expected                    bool
}

// The core of what users write agrees with picomatch to the last line. Of the
// exotic rest, one in a hundred may be wrong, and one in five refused.
func TestGlobAgreesWithPicomatch(t *testing.T) {
	path := "testdata/picomatch_sample.jsonl"
	if p := os.Getenv("PICOMATCH_VECTORS"); p != "" { // more of the same kind
		path = p
	}
	type tally struct{ all, wrong, refused int }
	tiers := map[string]*tally{"core": {}, "exotic": {}, "odd": {}}
	for _, v := range samples.Read[globVector](t, path) {
		c := tiers[v.Tier]
		c.all++
		g, err := Compile(v.Pattern)
		switch {
		case err != nil:
			c.refused++
			if v.Tier == "core" {
				t.Errorf("core %s: %q refused: %v", v.Class, v.Pattern, err)
			}
		case g.Match(v.Input) != v.Expected:
			c.wrong++
			report := t.Logf
			if v.Tier == "core" {
				report = t.Errorf
			}
			report("%s %s: %q on %q: got %v, want %v", v.Tier, v.Class, v.Pattern, v.Input, !v.Expected, v.Expected)
		}
	}
	if c := tiers["exotic"]; c.wrong*100 > c.all || c.refused*5 > c.all {
		t.Errorf("exotic: %d wrong and %d refused of %d, want at most 1 %% and 20 %%", c.wrong, c.refused, c.all)
	}
	for name, c := range tiers {
		t.Logf("%s: %d wrong, %d refused of %d", name, c.wrong, c.refused, c.all)
	}
}

// Each !(…) that is accepted is exact. A looser one would allow too much as an
// allow rule, a narrower one as a deny rule. Each pattern of the sample is
// one that picomatch 4.0.7 has answered.
func TestNegationAgreesWithPicomatch(t *testing.T) {
	path := "testdata/negation_sample.jsonl"
	if p := os.Getenv("PICOMATCH_NEGATIONS"); p != "" { // more of the same kind
		path = p
	}
	globs := map[string]*Glob{}
	for _, v := range samples.Read[globVector](t, path) {
		g := globs[v.Pattern]
		if g == nil {
			var err error
			if g, err = Compile(v.Pattern); err != nil {
				t.Fatal(err)
			}
			globs[v.Pattern] = g
		}
		if g.Match(v.Input) != v.Expected {
			t.Errorf("%q on %q: got %v, want %v", v.Pattern, v.Input, !v.Expected, v.Expected)
		}
	}
}

// Where the dialect differs from picomatch on purpose, or picomatch's answer
// is worth holding.
func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, input string
		want           bool
	}{
		{"git push *", "git push a\nb", true}, // 1: "*" matches line ends
		{"*", "..", true},                     // 2: and dot segments
		{"*", "../x", true},
		{"[!abc]", "d", true}, // 3: "!" negates
		{"[!abc]", "a", false},
		{"[!abc]", "/", false},
		{"* | sh", "curl x | sh", true}, // 4: "|" outside groups is text
		{"* | sh", "curl x ", false},
		{"*", "", false},
		{"!a", "", false},
		{"!a", "!a", true},
		{"!!a", "a", true},
		{"src/[id]/*", "src/[id]/x", true},
		{"src/[id]/*", "src/i/x", true},
		{"secrets/**", "secrets", true},
		{"secrets/**", "secrets/a/b", true},
		{"secrets/**", "secretsx", false},
		{"**/x", "x", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/c/d/b", true},
		{"src/**/*", "src", true},
		{"src/**/*", "srcs/x", false},
		{"a?b", "a/b", false},
		{"xargs -I{} *", "xargs -I{} echo {}", true},
		{"?", "😀", false}, // two characters in UTF-16, as in picomatch
		{"??", "😀", true},
		{"[😀]?", "😀", true},
		{"😀*", "😀x", true},
		{"{😀,x}", "😀", true},
		{"!(a)", "b", true},
		{"!(a)", "a", false},
		{"src/!(a)", "src/ab", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
	} {
		g, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := g.Match(c.input); got != c.want {
			t.Errorf("%q on %q: got %v, want %v", c.pattern, c.input, got, c.want)
		}
	}
}

func TestGlobRefuses(t *testing.T) {
	for pattern, reason := range map[string]string{
		"":                                    "empty",
		`\d+`:                                 "regular expression",
		"(a)?":                                "regular expression",
		"[a-z]+":                              "regular expression",
		"{a,b}+":                              "regular expression",
		"(?=a)":                               "regular expression",
		"(?:a)":                               "regular expression",
		"a[]b":                                "without a",
		"[z-a]":                               "backwards",
		"[[:foo:]]":                           "character class",
		"{a,b":                                "without",
		"@(a|b":                               "without",
		"!(a|!(b))":                           "inside !(…)",
		"*(a|!(b))":                           "repeated",
		"{10..20}":                            "braces",
		"a\x00":                               "NUL",
		"\xff":                                "UTF-8",
		"a" + strings.Repeat("b", maxPattern): "64 KiB",
		strings.Repeat("(", 100):              "deep",
		strings.Repeat("{", 100):              "deep",
		`"a*`:                                 "partner",
		"+(a|aa)":                             "repeated",
	} {
		_, err := Compile(pattern)
		var pe *Error
		if !errors.As(err, &pe) {
			t.Errorf("%.40q: got %v, want an Error", pattern, err)
		} else if !strings.Contains(pe.Reason, reason) {
			t.Errorf("%.40q: got %q, want a reason with %q", pattern, pe.Reason, reason)
		}
	}
}

// Hostile patterns take time linear in the input.
func TestGlobIsLinear(t *testing.T) {
	input := strings.Repeat("a", 10_000)
	for _, pattern := range []string{
		"{a*,b*}{a*,b*}c?", strings.Repeat("{a,b}*", 8) + "c", strings.Repeat("a*", 50) + "b",
		strings.Repeat("*a", 200) + "b", strings.Repeat("**/", 50) + "b", "+(a|b*)c", strings.Repeat("?*", 40) + "b",
		strings.Repeat("*(a)", 20) + "b", "!(" + strings.Repeat("*a", 20) + "b)c", "**/!(a|*ab)", "{a,!(b)}*!(c)*",
		"**/!(*a????????????)", "+(a|b*)[c]", "*(a[a]|x*(ab)y)[b]", "*(b*(*a)|a[a]*(a*(a)[a]))[b]", strings.Repeat("*([a]", 40) + strings.Repeat("[a])", 40) + "[b]",
	} {
		g, err := Compile(pattern)
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		start := time.Now()
		g.Match(input)
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%q: %v for 10,000 characters", pattern, d)
		} else {
			t.Logf("%.30q: %v", pattern, d)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, v := range samples.Read[globVector](f, "testdata/picomatch_sample.jsonl") {
		f.Add(v.Pattern, v.Input)
	}
	f.Fuzz(func(t *testing.T, pattern, input string) {
		if g, err := Compile(Quote(input)); err == nil {
			if input != "" && !g.Match(input) {
				t.Errorf("the quoted %q does not match itself", input)
			}
			if g.Match(input + "x") {
				t.Errorf("the quoted %q matches more than itself", input)
			}
		}
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		if !g.Match(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
		if g.Match("") {
			t.Errorf("%q matches nothing", pattern)
		}
		g.Match(input)
	})
}

func BenchmarkHostile(b *testing.B) {
	input := strings.Repeat("a", 10_000)
	for _, p := range []string{"{a*,b*}{a*,b*}c?", "{a,b}*{a,b}*{a,b}*{a,b}*c", strings.Repeat("*a", 50) + "b", "+(a|b*)c"} {
		g, err := Compile(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(p, func(b *testing.B) {
			for b.Loop() {
				g.Match(input)
			}
		})
	}
}
