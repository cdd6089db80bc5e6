package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The bounds of what a reader has to hold in mind at once.
const (
	maxFiles   = 24  // of a package, without tests
	maxLines   = 400 // of a file
	maxMethods = 40  // of a type
	maxFunc    = 80  // lines of a function
)

// larger names what is still over a bound. An entry that is not needed any more
// fails the test, as does a new one that is missing.
var larger = map[string]bool{}

// TestSize holds the bounds above, and that no test sleeps.
func TestSize(t *testing.T) {
	files := map[string]int{}   // by package
	methods := map[string]int{} // by type
	over := map[string]string{} // what is over a bound, and by how much
	walkGo(t, func(path string, text []byte) {
		lines := strings.Count(string(text), "\n")
		if lines > maxLines {
			over[path] = "more lines than a file may have"
		}
		test := strings.HasSuffix(path, "_test.go")
		if test && strings.Contains(string(text), "time."+"Sleep(") {
			over[path] = "a test that sleeps: wait for the event"
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if !test {
			files[dir]++
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if set.Position(f.End()).Line-set.Position(f.Pos()).Line >= maxFunc {
				over[dir+"."+f.Name.Name] = "more lines than a function may have"
			}
			if f.Recv != nil && !test {
				methods[dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	})
	for dir, n := range files {
		if n > maxFiles {
			over[dir] = "more files than a package may have"
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			over[name] = "more methods than a type may have"
		}
	}
	for name, why := range over {
		if !larger[name] {
			t.Errorf("%s: %s", name, why)
		}
	}
	for name := range larger {
		if over[name] == "" {
			t.Errorf("%s is within the bounds now: take it out of the table", name)
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// walkGo calls f with each Go file of the repository, the module of bench included.
func walkGo(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(rel), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestComments holds that the comment of a function or a type begins with its name.
func TestComments(t *testing.T) {
	word := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	walkGo(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		check := func(doc *ast.CommentGroup, name string) {
			first := word.FindString(strings.TrimSpace(doc.Text()))
			if first != "" && !strings.HasPrefix(first, name) && first != "A" && first != "An" && first != "The" {
				t.Errorf("%s: the comment of %s begins with %s", set.Position(doc.Pos()), name, first)
			}
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if d.Tok == token.TYPE && len(d.Specs) == 1 {
					check(d.Doc, d.Specs[0].(*ast.TypeSpec).Name.Name)
				}
			}
		}
	})
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	pathInDoc = regexp.MustCompile(`^(?:\.ci|agentdefs|bench|cmd|docs|eventbus|frontdoor|internal|model|packaging|permission|policy|sandbox|session|taskt|testdata|tool)(?:/[A-Za-z0-9_.-]+)*/?$`)
)

// TestPaths holds that each path that the architecture names exists.
func TestPaths(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, page := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				if !pathInDoc.MatchString(m[1]) {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
					t.Errorf("%s:%d: there is no %s", page, i+1, m[1])
				}
			}
		}
	}
}

// TestTextBounds: the length of a text that people are shown has a name, most often one in the
// table of termtext.
func TestTextBounds(t *testing.T) {
	calls := 0
	walkGo(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench/") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "OneLine" {
				return true
			}
			calls++
			if bound, ok := call.Args[1].(*ast.BasicLit); ok {
				t.Errorf("%s: the bound %s of a text has no name: see internal/termtext/bounds.go", set.Position(call.Pos()), bound.Value)
			}
			return true
		})
	})
	if calls < 100 {
		t.Errorf("%d calls of OneLine were found, want all", calls)
	}
}
