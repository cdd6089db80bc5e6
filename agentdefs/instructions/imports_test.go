package instructions_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/agentdefs/instructions"
)

func imported(text string) string {
	var all []string
	for _, i := range instructions.Imports(text) {
		all = append(all, fmt.Sprintf("%d:%s", i.Line, i.Path))
	}
	return strings.Join(all, " ")
}

func TestImportsOf(t *testing.T) {
	for text, want := range map[string]string{
		"@a": "1:a",
		"See @README for the @guides/x.md.\n- git @guides/git-instructions.md": "1:README 1:guides/x.md 2:guides/git-instructions.md",
		"@./a @../b @~/c @/d":                   "1:./a 1:../b 1:~/c 1:/d",
		"(@a.md), \"@b.md\", **@c.md**!\t@d":    "1:a.md 1:b.md 1:c.md 1:d",
		"me@example.org @ @@ @.":                "",
		"`@a` ``@b ` @c`` @d":                   "1:d",
		"`@a\n@b` @c":                           "2:c",
		"a ` b @c":                              "1:c",
		"a ` b\n\n` @c":                         "3:c",
		"\\`@a\\` \\@b @c":                      "1:c",
		"```\n@a\n```\n@b":                      "4:b",
		"~~~ x\n@a\n```\n~~~\n@b":               "5:b",
		"- x\n\n  ```\n  @a\n  ```\n  @b":       "6:b",
		"```\n@a":                               "",
		"<!-- @a\n@b --> @c":                    "2:c",
		"x <!-- @a":                             "1:a",
		"@" + strings.Repeat("a", 2000) + " @b": "1:b",
		"@ä/ö.md\u00a0@b":                       "1:ä/ö.md 1:b",
	} {
		if got := imported(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestImportsProperties: an import stands where it says, and none is in code.
func TestImportsProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{"@a", "@b/c.md", "`", "``", "```", "~~~", "\n", "\n\n", " ", "- ", "    ", "<!--", "-->", "x", ".", "\\", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		check(t, text)
		if got := imported("~~~~~~~~\n" + strings.ReplaceAll(text, "~", "x") + "\n~~~~~~~~\n"); got != "" && !strings.Contains(text, "<!--") {
			t.Fatalf("%q in a code block imports %s", text, got)
		}
		if got := imported(text + "\n\n<!-- -->\n\n@last.md"); !strings.HasSuffix(got, ":last.md") && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") && !strings.Contains(text, "<!--") {
			t.Fatalf("%q: %s lacks the last one", text, got)
		}
	})
}

func check(t interface{ Fatalf(string, ...any) }, text string) {
	lines := strings.Split(text, "\n")
	for _, i := range instructions.Imports(text) {
		if i.Path == "" || i.Line < 1 || i.Line > len(lines) || !strings.Contains(lines[i.Line-1], "@"+i.Path) {
			t.Fatalf("%q: %+v is not there", text, i)
		}
	}
}

func FuzzImports(f *testing.F) {
	for _, seed := range []string{"@a", "`@a` @b", "```\n@a\n```", "<!-- @a --> @b", "- ```\n  @a", "\x00@\xff", strings.Repeat("`", 300) + "@a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

// BenchmarkImports is the worst that a file of the largest size may be: backticks of all
// lengths that nothing closes.
func BenchmarkImports(b *testing.B) {
	var text strings.Builder
	for n := 1; text.Len() < instructions.MaxBytes; n++ {
		text.WriteString(strings.Repeat("`", n) + "@a ")
	}
	for b.Loop() {
		instructions.Imports(text.String())
	}
}
