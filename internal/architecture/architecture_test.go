// Package architecture holds the code against the drawing of the packages, which is the
// table in docs/architecture.md.
package architecture

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agentworker/worker/"

// leaves import none of ours, and all may import them.
//
// mayImport says, for each package, which of ours it may import besides the
// leaves. sharesRow has the packages that count as a part of another. readTable reads all
// three.
var (
	leaves    []string
	mayImport = make(map[string][]string)
	sharesRow = make(map[string]string)
)

// heavy are packages that a program of ours does not import, for what they cost it:
// cobra imports the templates too, and links them only where one is set.
var heavy = map[string]string{
	"text/template":                  "it calls methods by their names, so that the linker keeps those of all types (10 MB)",
	"html/template":                  "it calls methods by their names, so that the linker keeps those of all types (10 MB)",
	"github.com/openai/openai-go/v3": "it registers the types of the whole API (20 MB)",
}

// stored are the packages that hold what is stored of sessions. Whoever may import
// session/store, which opens them, may import them.
var stored = []string{"session/approval", "session/index", "session/integrity", "session/log", "session/outcome", "session/record", "session/recovery", "session/requests", "session/retention", "session/transcript"}

// readTable reads the packages of docs/architecture.md: their paths, what they hold,
// and what they may import.
func readTable(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| package | holds | may import, of ours |\n|---|---|---|\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatal("docs/architecture.md has no table of the packages")
	}
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 3 {
			t.Fatalf("a row has %d cells: %s", len(cells), row)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
			pkg := m[1]
			if _, twice := mayImport[pkg]; twice || sharesRow[pkg] != "" {
				t.Errorf("the table has %s twice", pkg)
			}
			mayImport[pkg] = nil
			switch {
			case strings.HasPrefix(cells[1], "leaf: "):
				leaves = append(leaves, pkg)
			case cells[2] == "-" || cells[2] == "all" && strings.HasPrefix(pkg, "cmd/"):
			case strings.HasPrefix(cells[2], "as "):
				delete(mayImport, pkg)
				sharesRow[pkg] = strings.Trim(strings.TrimPrefix(cells[2], "as "), "`")
			default:
				mayImport[pkg] = strings.Split(cells[2], ", ")
			}
		}
	}
	for pkg, as := range sharesRow {
		if _, ok := mayImport[as]; !ok {
			t.Errorf("%s is as %s, which has no row of its own", pkg, as)
		}
	}
	for pkg, may := range mayImport {
		for _, target := range may {
			if _, ok := mayImport[target]; !ok {
				t.Errorf("%s may import %s, which has no row", pkg, target)
			}
		}
		if pkg == "session/store" || slices.Contains(may, "session/store") {
			mayImport[pkg] = append(may, stored...)
		}
	}
}

func TestImports(t *testing.T) {
	readTable(t)
	root := filepath.Join("..", "..")
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || isModule(path)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		pkg := entry(dir)
		seen[dir], seen[pkg] = true, true
		allowed, ok := mayImport[pkg]
		wires := strings.HasPrefix(pkg, "cmd/") // it may import all of ours
		if !ok {
			t.Errorf("%s: the package has no row in the table", path)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if why, ok := heavy[name]; ok {
				t.Errorf("%s imports %s: %s", path, name, why)
			}
			imported, ours := strings.CutPrefix(name, module)
			if !ours || wires {
				continue
			}
			if target := entry(imported); target != pkg && !slices.Contains(allowed, target) && (slices.Contains(leaves, pkg) || !slices.Contains(leaves, target)) {
				t.Errorf("%s: %s may not import %s (it may: %s)", path, pkg, imported, strings.Join(allowed, ", "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []iter.Seq[string]{maps.Keys(mayImport), maps.Keys(sharesRow)} {
		for pkg := range table {
			if !seen[pkg] {
				t.Errorf("the table names %s, and there is no such package", pkg)
			}
		}
	}
}

// isModule reports whether a folder is a module of its own, as bench is. What it
// may import of ours is what a user of the packages may.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// entry returns the package whose row counts for a package.
func entry(dir string) string { return cmp.Or(sharesRow[dir], dir) }

// starters are the files that start a program whose name is not written there, and what it is.
// None starts git.
var starters = map[string]string{
	"cmd/worker/internal/settings/keys.go":       "the shell, for a key command",
	"cmd/worker/page.go":                         "the browser",
	"eventbus/internal/embedded/holder_other.go": "ps",
	"eventbus/natstest/disk_linux.go":            "the test itself",
	"frontdoor/notify/send.go":                   "the shell, for a command of the setting notify, and the program for desktop messages",
	"hooks/run.go":                               "the shell, for a hook",
	"internal/chromium/chromium.go":              "Chromium, for tests",
	"internal/ownpath/ownpath.go":                "any program is looked for, outside of what agents write",
	"internal/worktree/runner.go":                "git, hardened",
	"sandbox/internal/helper/call_linux.go":      "what a command names, inside of the sandbox",
	"sandbox/internal/helper/holder_linux.go":    "the helper itself",
	"tool/internal/stdio/process.go":             "an MCP server or a language server, inside of the sandbox",
	"tool/mcpclient/remote.go":                   "the shell, for a command that prints headers",
	"tool/shell_plain_other.go":                  "the shell, for a command",
}

// TestOneRunnerOfGit holds that no package but internal/worktree starts git: a
// repository's settings may name programs, and that one keeps them from being started.
func TestOneRunnerOfGit(t *testing.T) {
	used := make(map[string]bool)
	walkGo(t, func(path string, text []byte) {
		path = filepath.ToSlash(path)
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench/") {
			return
		}
		for _, program := range startsOf(t, path, text) {
			if base := strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe"); program == "" || strings.EqualFold(base, "git") {
				if used[path] = true; starters[path] == "" {
					t.Errorf("%s starts %q: git is started by worktree.Git; another program is written as a constant, or its file stands in starters", path, program)
				}
			}
		}
	})
	for path := range starters {
		if !used[path] {
			t.Errorf("%s starts nothing: remove it from starters", path)
		}
	}
}

// TestOwnPrograms holds that only internal/ownpath looks in PATH for a program that runs outside
// of the sandbox: an agent may write into a folder of PATH.
func TestOwnPrograms(t *testing.T) {
	walkGo(t, func(path string, text []byte) {
		path = filepath.ToSlash(path)
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench/") || path == "internal/ownpath/ownpath.go" || path == "internal/chromium/chromium.go" {
			return
		}
		if strings.Contains(string(text), "exec.LookPath") {
			t.Errorf("%s calls exec.LookPath: ownpath.Look leaves out what agents can write", path)
		}
		for _, program := range startsOf(t, path, text) {
			if program != "" && !strings.HasPrefix(program, "/") {
				t.Errorf("%s starts %q by its name: ownpath.Look finds it outside of what agents can write", path, program)
			}
		}
	})
}

// TestStartsFound: each way to start a program is seen.
func TestStartsFound(t *testing.T) {
	const head = "package x\nimport (\"os\"; \"os/exec\"; sys \"syscall\"; e2 \"os/exec\"; \"golang.org/x/sys/unix\")\n"
	for _, text := range []string{
		`var _ = exec.Command("git")`, `var _ = exec.CommandContext(f(a, b), "git", "x")`, `var _ = e2.Command("/usr/bin/git")`,
		`var _, _ = exec.LookPath("git")`, `var run = exec.Command`, `var g = "git"; var _ = exec.Command(g)`,
		`var _ = exec.Cmd{Path: "git"}`, `var _ = &exec.Cmd{}`, `var _ = os.StartProcess`, `var _ = sys.Exec`, `var _ = sys.ForkExec`, `var _ = unix.Exec`,
		`var _ = exec.CommandContext(ctx,
			"git")`, `var c = new(exec.Cmd)`,
	} {
		if found := startsOf(t, "x.go", []byte(head+text)); len(found) == 0 || !slices.ContainsFunc(found, func(p string) bool { return p == "" || strings.HasSuffix(p, "git") }) {
			t.Errorf("%s: %q was found", text, found)
		}
	}
	if found := startsOf(t, "x.go", []byte(head+`var _ = exec.Command("ps", "git")`+"\nfunc f(c *exec.Cmd) {}")); !slices.Equal(found, []string{"ps"}) {
		t.Errorf("%q was found for ps", found)
	}
}

// startsOf returns the programs that a file starts or looks for. One whose name is not a
// constant is "".
func startsOf(t *testing.T, path string, text []byte) (programs []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, spec := range file.Imports {
		from := strings.Trim(spec.Path.Value, `"`)
		name := from[strings.LastIndex(from, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = from
	}
	of := func(n ast.Node) string {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		from, _ := sel.X.(*ast.Ident)
		if from == nil {
			return ""
		}
		return names[from.Name] + "." + sel.Sel.Name
	}
	argument := map[string]int{"os/exec.Command": 0, "os/exec.LookPath": 0, "os/exec.CommandContext": 1}
	called := make(map[ast.Node]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if at, ok := argument[of(n.Fun)]; ok {
				called[n.Fun] = true
				program := ""
				if len(n.Args) > at {
					if lit, ok := n.Args[at].(*ast.BasicLit); ok {
						program, _ = strconv.Unquote(lit.Value)
					}
				}
				programs = append(programs, program)
			}
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 && of(n.Args[0]) == "os/exec.Cmd" {
				programs = append(programs, "")
			}
		case *ast.CompositeLit:
			if of(n.Type) == "os/exec.Cmd" {
				programs = append(programs, "")
			}
		case *ast.SelectorExpr:
			switch name := of(n); name {
			case "os/exec.Command", "os/exec.CommandContext", "os/exec.LookPath":
				if !called[n] {
					programs = append(programs, "")
				}
			case "os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess", "golang.org/x/sys/unix.Exec":
				programs = append(programs, "")
			}
		}
		return true
	})
	return programs
}
