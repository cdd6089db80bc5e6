package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCompatibility: the page has one row for every feature of the systems that it is
// about, and the tests that a row names exist.
func TestCompatibility(t *testing.T) {
	var ids []string
	for line := range strings.Lines(read(t, "internal/docs/testdata/compatibility.txt")) {
		id, _, _ := strings.Cut(line, "\t")
		ids = append(ids, id)
	}
	all := make(tests)
	var found []string
	for id, cells := range rows(read(t, "docs/compatibility.md")) {
		found = append(found, id)
		names := regexp.MustCompile("`[^`]+`").FindAllString(cells[len(cells)-1], -1)
		if len(names) == 0 {
			t.Errorf("%s names no test", id)
		}
		for _, name := range names {
			if err := all.exists(strings.Trim(name, "`")); err != "" {
				t.Errorf("%s: the test %s: %s", id, name, err)
			}
		}
	}
	slices.Sort(found)
	slices.Sort(ids)
	if !slices.Equal(found, ids) {
		t.Errorf("the page has the rows %v, want %v", found, ids)
	}
}

// rows yields the rows of a page's tables that begin with the id of a feature, each
// with its cells behind that.
func rows(page string) func(yield func(id string, cells []string) bool) {
	id := regexp.MustCompile(`^[A-Z]\d+$`)
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(page) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			first := strings.TrimPrefix(cells[0], "| ")
			if len(cells) < 2 || !id.MatchString(first) {
				continue
			}
			cells[len(cells)-1] = strings.TrimSpace(strings.TrimSuffix(cells[len(cells)-1], "|"))
			if !yield(first, cells[1:]) {
				return
			}
		}
	}
}

// exists looks for the test of a name, and returns why there is none, or an empty
// string. A name is the folder of a package, a full stop and the function. A slash and
// a subtest may follow: a string in the function or, of TestScript, a file.
func (all tests) exists(name string) string {
	at := strings.LastIndex(name, ".")
	if at < 0 {
		return "want FOLDER.TestName"
	}
	folder, name := name[:at], name[at+1:]
	name, sub, _ := strings.Cut(name, "/")
	if name == "TestScript" && sub != "" {
		if _, err := fs.Stat(root, path.Join(folder, "testdata/script", sub+".txtar")); err != nil {
			return err.Error()
		}
		sub = ""
	}
	body := all.of(folder)[name]
	switch {
	case body == nil:
		return "no such function"
	case sub != "" && !slices.Contains(literals(body), sub):
		return "no such subtest"
	}
	return ""
}

// tests are the test functions of the packages that were asked for.
type tests map[string]map[string]*ast.FuncDecl

// of returns those of a package.
func (all tests) of(folder string) map[string]*ast.FuncDecl {
	if found, ok := all[folder]; ok {
		return found
	}
	found := make(map[string]*ast.FuncDecl)
	all[folder] = found
	names, err := fs.Glob(root, path.Join(folder, "*_test.go"))
	if err != nil {
		return found
	}
	for _, file := range names {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler tells
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				found[f.Name.Name] = f
			}
		}
	}
	return found
}

// literals returns the strings in a function, as they stand in the names of subtests.
func literals(f *ast.FuncDecl) (all []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, strings.ReplaceAll(text, " ", "_"))
			}
		}
		return true
	})
	return all
}

// TestExists holds the check itself.
func TestExists(t *testing.T) {
	all := make(tests)
	for name, want := range map[string]bool{
		"internal/docs.TestExists":             true,
		"session.TestGate/denied_by_the_agent": true,
		"cmd/worker.TestScript/nesting":        true,
		"session.TestGate/no_such_case":        false,
		"cmd/worker.TestScript/no_such_file":   false,
		"internal/docs.TestNone":               false,
		"internal/docs.exists":                 false,
		"nowhere.TestExists":                   false,
		"TestExists":                           false,
	} {
		if got := all.exists(name); (got == "") != want {
			t.Errorf("%s: %q, want that it exists: %v", name, got, want)
		}
	}
}
