package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/tool"
)

func tree() map[string]string {
	return map[string]string{
		"README.md":        "# The project\n",
		"main.go":          "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n",
		"pkg/a.go":         "package pkg\n\n// Hello greets.\nfunc Hello() {}\n",
		"pkg/a_test.go":    "package pkg\n",
		"pkg/deep/x/b.ts":  "hello();\r\nbye();\r\n",
		"pkg/deep/y.tsx":   "hello\n",
		".github/ci.yml":   "on: push\n",
		".git/config":      "hello\n",
		"pkg/sub/.git":     "gitdir: hello\n",
		"link.go":          "-> main.go",
		"linked":           "-> pkg",
		"image.png":        "hello\x00\n",
		"pkg.d/z":          "",
		"odd/new\nline.go": "hello\n",
	}
}

func TestGlob(t *testing.T) {
	p := newPlace(t, nil, tree())
	for _, c := range []struct {
		pattern, path string
		want          []string
	}{
		{"*.go", "", []string{"link.go", "main.go", `"odd/new\nline.go"`, "pkg/a.go", "pkg/a_test.go"}},
		{"./*.go", "", []string{"link.go", "main.go"}},
		{"**/*_test.go", "", []string{"pkg/a_test.go"}},
		{"pkg/*", "", []string{"pkg/a.go", "pkg/a_test.go"}},
		{"pkg/**", "", []string{"pkg/a.go", "pkg/a_test.go", "pkg/deep/x/b.ts", "pkg/deep/y.tsx"}},
		{"pkg/", "", []string{"pkg/a.go", "pkg/a_test.go", "pkg/deep/x/b.ts", "pkg/deep/y.tsx"}},
		{"pkg/**/*.{ts,tsx}", "", []string{"pkg/deep/x/b.ts", "pkg/deep/y.tsx"}},
		{"**/deep/**/*.ts", "", []string{"pkg/deep/x/b.ts"}},
		{"*.ts", "pkg", []string{"pkg/deep/x/b.ts"}},
		{"deep/*.tsx", "pkg", []string{"pkg/deep/y.tsx"}},
		{"[!l]*.go", "", []string{"main.go", `"odd/new\nline.go"`, "pkg/a.go", "pkg/a_test.go"}},
		{"{README,.github/ci}.*", "", []string{".github/ci.yml", "README.md"}},
		{p.dir + "/pkg/*.go", "", []string{"pkg/a.go", "pkg/a_test.go"}},
		{"a.go", "linked", []string{"pkg/a.go"}},
		{"config", "", []string{`(no file matches "config" below .)`}},
		{"config", ".git", []string{".git/config"}},
		{"pkg", "", []string{`(no file matches "pkg" below .)`}},
	} {
		got := p.text("glob", args{"pattern": c.pattern, "path": c.path})
		if want := lines(c.want...); got != want {
			t.Errorf("glob(%q, path=%q):\ngot:\n%s\nwant:\n%s", c.pattern, c.path, got, want)
		}
	}
	for pattern, want := range map[string]string{
		"":                         "pattern is empty",
		"/etc/*":                   "begins with a slash",
		"../*":                     `contains ".."`,
		"a{b":                      "the brace at offset 1 is never closed",
		"a[b":                      "without its end",
		strings.Repeat("{a,b}", 9): "more than 256 patterns",
		strings.Repeat("a", 1001):  "at most 1000",
	} {
		p.fails("glob", args{"pattern": pattern}, want)
	}
	p.fails("glob", args{"pattern": "*", "path": "main.go"}, "main.go is a file")
	p.fails("glob", args{"pattern": "*", "path": "none"}, "none: file does not exist")
}

func TestGrep(t *testing.T) {
	p := newPlace(t, nil, tree())
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"a word", args{"pattern": "hello"}, []string{
			"main.go:4: \tprintln(\"hello\")", `"odd/new\nline.go":1: hello`, "pkg/deep/x/b.ts:1: hello();", "pkg/deep/y.tsx:1: hello", "(1 file skipped: binary)"}},
		{"case", args{"pattern": "hello", "ignoreCase": true, "path": "pkg"}, []string{
			"pkg/a.go:3: // Hello greets.", "pkg/a.go:4: func Hello() {}", "pkg/deep/x/b.ts:1: hello();", "pkg/deep/y.tsx:1: hello"}},
		{"include", args{"pattern": "hello", "include": "*.ts"}, []string{"pkg/deep/x/b.ts:1: hello();"}},
		{"include below path", args{"pattern": "hello", "path": "pkg", "include": "deep/*"}, []string{"pkg/deep/y.tsx:1: hello"}},
		{"ends of a CRLF line", args{"pattern": `^bye\(\);$`, "path": "pkg"}, []string{"pkg/deep/x/b.ts:2: bye();"}},
		{"start and end of text", args{"pattern": `\Afunc.*\z`, "path": "main.go"}, []string{"main.go:3: func main() {"}},
		{"not across lines", args{"pattern": `main\s+func`}, []string{"(no match)", "(1 file skipped: binary)"}},
		{"empty lines", args{"pattern": `^$`, "path": "main.go"}, []string{"main.go:2: "}},
		{"a file", args{"pattern": "main", "path": "main.go"}, []string{"main.go:1: package main", "main.go:3: func main() {"}},
		{"a linked file", args{"pattern": "main", "path": "link.go"}, []string{"main.go:1: package main", "main.go:3: func main() {"}},
		{"a binary file", args{"pattern": "hello", "path": "image.png"}, []string{"(no match)", "(1 file skipped: binary)"}},
		{"limit", args{"pattern": ".", "path": "pkg", "limit": 2}, []string{
			"pkg/a.go:1: package pkg", "pkg/a.go:3: // Hello greets.", "(the first 2 matches; there are more: narrow the pattern, the path or include)"}},
		{"limit is all there is", args{"pattern": "pkg", "path": "pkg", "limit": 2}, []string{"pkg/a.go:1: package pkg", "pkg/a_test.go:1: package pkg"}},
		{"context", args{"pattern": "^func", "path": "main.go", "context": 1}, []string{
			"main.go-2- ", "main.go:3: func main() {", "main.go-4- \tprintln(\"hello\")"}},
		{"context of two files", args{"pattern": "^func", "context": 1, "include": "*.go"}, []string{
			"main.go-2- ", "main.go:3: func main() {", "main.go-4- \tprintln(\"hello\")", "--", "pkg/a.go-3- // Hello greets.", "pkg/a.go:4: func Hello() {}"}},
		{"context that overlaps", args{"pattern": "package|func", "path": "main.go", "context": 1}, []string{
			"main.go:1: package main", "main.go-2- ", "main.go:3: func main() {", "main.go-4- \tprintln(\"hello\")"}},
		{"context with a gap", args{"pattern": "package|}", "path": "main.go", "context": 1}, []string{
			"main.go:1: package main", "main.go-2- ", "--", "main.go-4- \tprintln(\"hello\")", "main.go:5: }"}},
		{"in .git, by name", args{"pattern": "hello", "path": ".git"}, []string{".git/config:1: hello"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := p.text("grep", c.args)
			if want := lines(c.want...); got != want {
				t.Errorf("grep(%v):\ngot:\n%s\nwant:\n%s", c.args, got, want)
			}
		})
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": ""}, "pattern is empty"},
		{args{"pattern": "a("}, "missing closing ): `a(`"},
		{args{"pattern": `(a)\1`}, "invalid escape sequence"},
		{args{"pattern": strings.Repeat("a", 5000)}, "at most 4096"},
		{args{"pattern": strings.Repeat("x{1000}", 10)}, "pattern is too large"},
		{args{"pattern": "a", "include": "{"}, "include: pattern"},
		{args{"pattern": "a", "context": -1}, "cannot be negative"},
		{args{"pattern": "a", "path": "none"}, "none: file does not exist"},
	} {
		p.fails("grep", c.args, c.want)
	}
}

func TestGrepLongLines(t *testing.T) {
	p := newPlace(t, &tool.Options{MaxFileBytes: 100_000}, map[string]string{
		"min.js":   strings.Repeat("é", 3000) + "needle" + strings.Repeat("ü", 3000) + "\n",
		"long.js":  strings.Repeat("é", 20_000) + "needle\n",
		"huge.log": strings.Repeat("needle\n", 20_000),
	})
	got := p.text("grep", args{"pattern": "needl[e]"})
	want := lines(
		"long.js:1: …"+strings.Repeat("é", 50)+"needle",
		"min.js:1: …"+strings.Repeat("é", 50)+"needle"+strings.Repeat("ü", 197)+"…",
		"(1 file skipped: over the size limit)")
	if got != want {
		t.Errorf("grep in long lines:\ngot:\n%s\nwant:\n%s", got, want)
	}
}

func TestListDir(t *testing.T) {
	p := newPlace(t, nil, tree())
	p.put("big.bin", strings.Repeat("x", 1536))
	for path, want := range map[string]string{
		"": lines(".github/", "README.md  14 B", "big.bin  1.5 KiB", "image.png  7 B", "link.go -> main.go", "linked -> pkg",
			"main.go  48 B", "odd/", "pkg/", "pkg.d/"),
		"pkg":     lines("a.go  46 B", "a_test.go  12 B", "deep/", "sub/"),
		"linked":  lines("a.go  46 B", "a_test.go  12 B", "deep/", "sub/"),
		"odd":     `"new\nline.go"  6 B`,
		"pkg/sub": "(nothing to show in pkg/sub)",
	} {
		if got := p.text("list_dir", args{"path": path}); got != want {
			t.Errorf("list_dir(%q):\ngot:\n%s\nwant:\n%s", path, got, want)
		}
	}
	p.fails("list_dir", args{"path": "main.go"}, "main.go is a file: read it with read_file")
	p.fails("list_dir", args{"path": "none"}, "none: file does not exist")
}

// Every list ends at its bound, and says how to see the rest.
func TestSearchBounds(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("f%02d.txt", i)] = "hit\nhit\n"
	}
	byLines := newPlace(t, &tool.Options{MaxOutputLines: 10}, files)
	byBytes := newPlace(t, &tool.Options{MaxOutputBytes: 100}, files)
	byMatches := newPlace(t, &tool.Options{MaxMatches: 7}, files)
	for _, c := range []struct {
		p    *place
		name string
		args args
		last string
		rows int
	}{
		{byLines, "list_dir", nil, `(10 of 40 entries shown; see the rest with glob, path="." and a narrower pattern)`, 10},
		{byLines, "glob", args{"pattern": "*"}, "(the first 10 results; there are more: narrow the pattern or the path)", 10},
		{byLines, "grep", args{"pattern": "hit"}, "(the first 10 matches; there are more: narrow the pattern, the path or include)", 10},
		{byBytes, "list_dir", nil, `(7 of 40 entries shown; see the rest with glob, path="." and a narrower pattern)`, 7},
		{byBytes, "glob", args{"pattern": "*"}, "(the first 12 results; there are more: narrow the pattern or the path)", 12},
		{byBytes, "grep", args{"pattern": "hit"}, "(the first 6 matches; there are more: narrow the pattern, the path or include)", 6},
		{byMatches, "grep", args{"pattern": "hit"}, "(the first 7 matches; there are more: narrow the pattern, the path or include)", 7},
		{byMatches, "grep", args{"pattern": "hit", "limit": 100}, "(the first 7 matches; there are more: narrow the pattern, the path or include)", 7},
	} {
		r := c.p.call(c.name, c.args)
		rows := strings.Split(r.Text, "\n")
		if got := rows[len(rows)-1]; !r.Truncated || got != c.last || len(rows)-1 != c.rows {
			t.Errorf("%s(%v): truncated=%v, %d rows, last %q; want %d rows, last %q", c.name, c.args, r.Truncated, len(rows)-1, got, c.rows, c.last)
		}
	}
}

// What the session may not see is left out and counted, and the count does not
// depend on what is in those files.
func TestReadable(t *testing.T) {
	p := newPlace(t, nil, map[string]string{
		"a.txt": "key=1\n", "secret/b.txt": "key=2\n", "secret/c.txt": "nothing\n", "z.env": "key=3\n", "way": "-> secret", "open": "-> pub", "pub/d.txt": "key=4\n",
	})
	readable := func(path string) bool {
		return !strings.HasPrefix(path, "secret") && !strings.HasSuffix(path, ".env") && !strings.HasPrefix(path, "open/")
	}
	const three = "(3 results left out: this agent may not read their files)"
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"grep", args{"pattern": "key"}, lines("a.txt:1: key=1", "pub/d.txt:1: key=4", three)},
		{"grep", args{"pattern": "absent"}, lines("(no match)", three)},
		{"grep", args{"pattern": "key", "include": "*.env"}, lines("(no match)", "(1 result left out: this agent may not read its file)")},
		{"grep", args{"pattern": "key", "path": "z.env"}, lines("(no match)", "(1 result left out: this agent may not read its file)")},
		{"grep", args{"pattern": "key", "path": "way/b.txt"}, lines("(no match)", "(1 result left out: this agent may not read its file)")},
		{"grep", args{"pattern": "key", "path": "way"}, lines("(no match)", "(2 results left out: this agent may not read their files)")},
		{"grep", args{"pattern": "key", "path": "open"}, lines("(no match)", "(1 result left out: this agent may not read its file)")},
		{"glob", args{"pattern": "**"}, lines("a.txt", "open", "pub/d.txt", "way", three)},
		{"glob", args{"pattern": "*.env"}, lines(`(no file matches "*.env" below .)`, "(1 result left out: this agent may not read its file)")},
		{"list_dir", args{}, lines("a.txt  6 B", "open -> pub", "pub/", "way -> secret", "(2 results left out: this agent may not read their files)")},
		{"list_dir", args{"path": "secret"}, lines("(nothing to show in secret)", "(2 results left out: this agent may not read their files)")},
	} {
		if r := p.callWith(t.Context(), c.name, c.args, readable); r.Text != c.want {
			t.Errorf("%s(%v):\ngot:\n%s\nwant:\n%s", c.name, c.args, r.Text, c.want)
		}
	}
}

// The end of the context ends a walk, with what has been found and a note.
func TestSearchCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("d%02d/f.txt", i)] = "hit\n"
	}
	p := newPlace(t, nil, files)
	for name, a := range map[string]args{"glob": {"pattern": "**"}, "grep": {"pattern": "hit"}} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		r := p.callWith(ctx, name, a, func(string) bool {
			if seen++; seen == 5 {
				cancel()
			}
			return true
		})
		if r.IsError || !r.Truncated || !strings.Contains(r.Text, "(stopped early: context canceled; the results are not complete") || seen > 10 {
			t.Errorf("%s, cancelled at the fifth file: saw %d, truncated=%v\n%s", name, seen, r.Truncated, r.Text)
		}
		if r := p.callWith(ctx, name, a, nil); !r.IsError || !strings.Contains(r.Text, "not begun: context canceled") {
			t.Errorf("%s with a context that has ended: %+v", name, r)
		}
	}
}

// A pattern that is slow on a long line ends with its context all the same.
func TestGrepSlowPattern(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"long.txt": strings.Repeat("ab", 4<<20)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := p.callWith(ctx, "grep", args{"pattern": "(a?b?){800}[^ab]"}, nil)
	if r.IsError || !r.Truncated || !strings.Contains(r.Text, "(stopped early: context deadline exceeded;") {
		t.Errorf("grep with a slow pattern: %+v", r)
	}
}

func BenchmarkGrep(b *testing.B) {
	files := map[string]string{}
	for i := range 2000 {
		var s strings.Builder
		for j := range 100 {
			fmt.Fprintf(&s, "\tfunc name%d(argument%d string) error { return nil } // %d\n", j, i, i*j)
		}
		if i%100 == 0 {
			s.WriteString("the needle in the haystack\n")
		}
		files[fmt.Sprintf("pkg%02d/sub%d/file%04d.go", i%40, i%5, i)] = s.String()
	}
	p := newPlace(b, nil, files)
	for name, a := range map[string]args{
		"literal":    {"pattern": "needle"},
		"regexp":     {"pattern": `nee\w+ in`},
		"noLiteral":  {"pattern": `needle|haystacks`},
		"ignoreCase": {"pattern": "NEEDLE", "ignoreCase": true},
		"glob":       nil,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if a == nil {
					p.text("glob", args{"pattern": "file1*.go"})
				} else if got := p.text("grep", a); strings.Count(got, "\n") != 19 {
					b.Fatal(got)
				}
			}
		})
	}
}
