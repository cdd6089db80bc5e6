package tool_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// The wanted paths are what "git ls-files --others --exclude-standard" lists.
func TestGitignore(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // those without content are listed in paths
		paths string
		want  string
	}{
		{"names", map[string]string{".gitignore": "*.log\nnode_modules/\n"},
			"a.go a.log node_modules/x.js sub/b.log sub/node_modules/y.js sub/c.go", ".gitignore a.go sub/c.go"},
		{"comments and white space", map[string]string{".gitignore": "# a.go\n\n   \nb.go  \n\\#c\n\\!d\n"},
			"a.go b.go #c !d", ".gitignore a.go"},
		{"CRLF and BOM", map[string]string{".gitignore": "\uFEFFa.go\r\nb.go\r\n"}, "a.go b.go c.go", ".gitignore c.go"},
		{"negation", map[string]string{".gitignore": "*.log\n!keep.log\n"}, "a.log keep.log sub/keep.log", ".gitignore keep.log sub/keep.log"},
		{"no negation below an ignored folder", map[string]string{".gitignore": "out/\n!out/keep\n"}, "out/keep out/x y", ".gitignore y"},
		{"all but some below a folder", map[string]string{".gitignore": "out/*\n!out/keep\n"}, "out/keep out/x y", ".gitignore out/keep y"},
		{"all below a folder, but some", map[string]string{".gitignore": "logs/**\n!logs/.gitkeep\n"}, "logs/.gitkeep logs/x y", ".gitignore logs/.gitkeep y"},
		{"only some", map[string]string{".gitignore": "*\n!*/\n!*.go\n"}, "a.go b.txt sub/c.go sub/d.txt", "a.go sub/c.go"},
		{"only one folder", map[string]string{".gitignore": "/*\n!/src\n"}, "a src/b src/c/d sub/src/e", "src/b src/c/d"},
		{"nothing but one folder", map[string]string{".gitignore": "/**\n!/src\n!/src/**\n"}, "a src/b src/c/d", "src/b src/c/d"},
		{"negation of a folder above", map[string]string{".gitignore": "*.log\n!keep\n!/top\n"}, "keep/a.log keep/b top/a.log top/b", ".gitignore keep/b top/b"},
		{"rooted", map[string]string{".gitignore": "/build\n/docs/*.html\n"}, "build/x sub/build/x docs/a.html docs/sub/a.html", ".gitignore docs/sub/a.html sub/build/x"},
		{"rooted by a slash within", map[string]string{".gitignore": "docs/*.html\n"}, "docs/a.html sub/docs/a.html", ".gitignore sub/docs/a.html"},
		{"a folder, not a file", map[string]string{".gitignore": "x/\n"}, "x sub/x/y", ".gitignore x"},
		{"two stars", map[string]string{".gitignore": "**/gen/*.go\na/**/z\nlib**.js\nt/v**.js\n"},
			"gen/a.go x/gen/b.go x/gen/sub/c.go a/z a/b/z a/b/c/z b/z library.js t/vendor.js t/w.js", ".gitignore b/z t/w.js x/gen/sub/c.go"},
		{"classes", map[string]string{".gitignore": "[ab].go\n[!x].txt\n"}, "a.go c.go x.txt y.txt", ".gitignore c.go x.txt"},
		{"nested", map[string]string{".gitignore": "*.log\n", "sub/.gitignore": "!*.log\n/only\n"},
			"a.log sub/a.log sub/only sub/deep/only sub/deep/b.log", ".gitignore sub/.gitignore sub/a.log sub/deep/b.log sub/deep/only"},
		{"siblings do not mix", map[string]string{".gitignore": "", "a/.gitignore": "x\n", "b/.gitignore": "y\n"},
			"a/x a/y b/x b/y", ".gitignore a/.gitignore a/y b/.gitignore b/x"},
		{"info/exclude", map[string]string{".git/info/exclude": "*.tmp\n", ".gitignore": "!b.tmp\n"}, "a.tmp b.tmp c", ".gitignore b.tmp c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil, c.files)
			for _, name := range strings.Fields(c.paths) {
				p.put(name, "text\n")
			}
			if got := strings.ReplaceAll(p.text("glob", args{"pattern": "**"}), "\n", " "); got != c.want {
				t.Errorf("glob **: got %q, want %q", got, c.want)
			}
		})
	}
}

// What is named is searched, ignored or not.
func TestIgnoredByName(t *testing.T) {
	p := newPlace(t, nil, map[string]string{
		".gitignore":  "/out\nignored.txt\n",
		"ignored.txt": "hit\n", "out/a.txt": "hit\n", "out/sub/b.txt": "hit\n", "out/.gitignore": "c.txt\n", "out/c.txt": "hit\n", "d.txt": "hit\n",
	})
	for _, c := range []struct{ path, want string }{
		{"", "d.txt:1: hit"},
		{"ignored.txt", "ignored.txt:1: hit"},
		{"out", "out/a.txt:1: hit\nout/sub/b.txt:1: hit"},
		{"out/sub", "out/sub/b.txt:1: hit"},
		{"out/c.txt", "out/c.txt:1: hit"},
	} {
		if got := p.text("grep", args{"pattern": "^hit", "path": c.path}); got != c.want {
			t.Errorf("grep(path=%q): got %q, want %q", c.path, got, c.want)
		}
	}
	if got := p.text("list_dir", nil); got != ".gitignore  17 B\nd.txt  4 B\n(2 entries left out by .gitignore)" {
		t.Errorf("list_dir: got %q", got)
	}
}

func TestIgnoreBounds(t *testing.T) {
	var rules strings.Builder
	for i := range 4999 {
		fmt.Fprintf(&rules, "no%d\n", i)
	}
	at := rules.String() + "a\n"
	note := "(.gitignore was not read to its end: at most 5000 rules hold in a folder, of at most 4096 bytes each)"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"at the limit", map[string]string{".gitignore": at, "a": "", "b": ""}, lines(".gitignore", "b")},
		{"beyond it", map[string]string{".gitignore": at + "b\n", "a": "", "b": ""}, lines(".gitignore", "b", note)},
		{"beyond it below", map[string]string{".gitignore": at, "s/.gitignore": "b", "s/b": "", "t/b": ""}, lines(".gitignore", "s/.gitignore", "s/b", "t/b", note)},
		{"as much in siblings", map[string]string{"s/.gitignore": at, "t/.gitignore": at, "s/a": "", "t/a": ""}, lines("s/.gitignore", "t/.gitignore")},
		{"a long line", map[string]string{".gitignore": strings.Repeat("[a]", 2000) + "\nb\n", "a": "", "b": ""}, lines(".gitignore", "a", note)},
	} {
		p := newPlace(t, nil, c.files)
		if got := p.text("glob", args{"pattern": "**"}); got != c.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}

// A walk asks for the end of its context at every entry, and while it reads rules.
func TestWalkCancelled(t *testing.T) {
	files := map[string]string{".gitignore": strings.Repeat("*a*b*c*d*\n", 1000)}
	for i := range 100 {
		files[fmt.Sprintf("f%03d", i)] = "x"
	}
	p := newPlace(t, nil, files)
	for _, name := range []string{"glob", "list_dir"} {
		for _, at := range []int32{10, 1050} { // among the rules, among the entries
			ctx, cancel := context.WithCancel(t.Context())
			n := new(atomic.Int32)
			n.Store(at)
			a := args{"pattern": "*"}
			if name == "list_dir" {
				delete(a, "pattern")
			}
			r := p.callWith(endsAt{ctx, cancel, n}, name, a, nil)
			cancel()
			if !strings.Contains(r.Text, "stopped early: context canceled") || strings.Contains(r.Text, "f099") {
				t.Errorf("%s cancelled at moment %d: %+v, want it stopped early", name, at, r)
			}
		}
	}
}

// TestGlobIgnored: a file that git ignores is found by its name, and a pattern that matches only
// such files says so.
func TestGlobIgnored(t *testing.T) {
	p := newPlace(t, nil, map[string]string{
		".gitignore": "dist/\n*.log\n", "dist/a.js": "", "dist/b.js": "", "x.log": "", "src/a.ts": "", "app/[id]/page.tsx": "", "app/(shop)/[[...slug]]/page.tsx": "",
	})
	for pattern, want := range map[string]string{
		"dist/a.js":                       "dist/a.js\n(it is ignored by git)",
		"dist/*.js":                       "(no file matches \"dist/*.js\" below .)\n(2 matches are ignored by git: give their folder as path to see them)",
		"*.log":                           "(no file matches \"*.log\" below .)\n(1 match is ignored by git: give their folder as path to see them)",
		"*.py":                            "(no file matches \"*.py\" below .)",
		"app/[id]/page.tsx":               "app/[id]/page.tsx",
		"app/(shop)/[[...slug]]/page.tsx": "app/(shop)/[[...slug]]/page.tsx",
		"**/[[...slug]]/*":                "app/(shop)/[[...slug]]/page.tsx",
	} {
		if got := p.text("glob", args{"pattern": pattern}); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
