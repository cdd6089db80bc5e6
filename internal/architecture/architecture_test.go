// Package architecture holds the drawing of the packages against the code: the
// table below is the one in docs/architecture.md.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agentworker/worker/"

// leaves import none of ours, and all may import them.
var leaves = []string{
	"internal/atomicfile",
	"internal/boundedfile",
	"internal/chromium",
	"internal/disk",
	"internal/errtext",
	"internal/fileglob",
	"internal/fileinfo",
	"internal/gitplace",
	"internal/picture",
	"internal/procgroup",
	"internal/secrets",
	"internal/snapshot",
	"internal/strictjson",
	"internal/suggest",
	"internal/symlink",
	"internal/tcpline",
	"internal/termtext",
	"internal/toolcatalog",
	"internal/tracecontext",
}

// mayImport says, for each package, which of ours it may import besides the
// leaves. A package below another stands under its entry unless it has one of its
// own.
var mayImport = map[string][]string{
	"permission":        {"permission/glob", "internal/hostport"},
	"permission/glob":   nil,
	"policy":            {"permission", "permission/glob", "internal/spendlimit"},
	"policy/policytest": {"policy"},
	"permission/shell":  {"permission", "permission/glob", "permission/internal/program", "internal/gitindex"},

	"permission/internal/program": nil, // what is known of programs, apart from what an analysis makes of it

	"eventbus":            {"eventbus/event", "eventbus/internal/embedded", "eventbus/internal/natsstore", "eventbus/internal/storefiles"},
	"eventbus/event":      nil,
	"model":               nil,
	"sandbox":             {"permission", "permission/glob", "internal/gitindex", "internal/hostport"},
	"internal/gitindex":   nil, // git's index without git
	"internal/hostport":   {"permission/glob"},
	"internal/workspace":  nil,
	"internal/worktree":   nil,
	"internal/spendlimit": nil,
	"internal/mcpconfig":  nil,
	"internal/hookconfig": nil,
	"internal/trusted":    nil,
	"hooks":               {"sandbox", "internal/hookconfig", "internal/trusted"}, // commands and requests around calls
	"agentdefs": {
		"agentdefs/internal/access", "agentdefs/internal/agentfile", "agentdefs/internal/definition", "agentdefs/internal/diag", "agentdefs/internal/dialect",
		"agentdefs/internal/scan", "agentdefs/internal/spelling", "agentdefs/internal/watch", "permission", "permission/glob",
	},
	"agentdefs/instructions": {"agentdefs/internal/agentfile", "agentdefs/internal/diag"},                                                                 // the same for what a workspace says to all
	"agentdefs/skills":       {"agentdefs/internal/agentfile", "agentdefs/internal/definition", "agentdefs/internal/diag", "agentdefs/internal/spelling"}, // beside agents: who loads those needs none

	// Programs that tools start and speak to.
	"tool/lsp":               {"permission", "sandbox", "tool", "tool/internal/stdio", "internal/trusted"}, // language servers
	"tool/internal/stdio":    {"sandbox", "tool/internal/headtail"},
	"tool/internal/headtail": nil, // what they write, bounded

	"tool/web":              {"permission", "sandbox", "tool", "internal/hostport"},                                                                  // the web
	"tool/mcpclient":        {"permission", "sandbox", "tool", "tool/internal/stdio", "internal/mcpconfig", "internal/trusted", "internal/hostport"}, // MCP servers as tools
	"tool/commands":         {"permission", "permission/shell", "sandbox", "tool", "tool/internal/headtail"},                                         // that go on in the background
	"tool/internal/control": {"internal/worktree"},                                                                                                   // what steers agents and git, apart from the tools
	"tool":                  {"permission", "permission/shell", "sandbox", "internal/worktree", "tool/internal/control", "tool/internal/headtail"},
	"session":               {"hooks", "internal/hookconfig", "session/audit", "session/conversation", "session/gate", "session/hidden", "session/inbox", "session/journal", "session/lease", "session/lifetime", "session/masking", "session/models", "session/notes", "session/requests", "session/store", "session/toolcall", "eventbus", "eventbus/event", "permission", "permission/shell", "policy", "model", "tool", "tool/commands"},
	"taskt":                 {"agentdefs", "agentdefs/instructions", "agentdefs/skills", "session", "session/conversation", "session/gate", "session/masking", "session/store", "eventbus", "eventbus/event", "model", "tool", "permission", "taskt/budget", "taskt/control", "taskt/input", "taskt/memory", "taskt/offer", "taskt/planexit", "taskt/report", "taskt/skilltool", "taskt/slots", "taskt/workdir", "internal/spendlimit", "internal/mcpconfig"},
	"frontdoor":             {"taskt", "taskt/control", "taskt/input", "taskt/offer", "taskt/slots", "taskt/upkeep", "session", "session/live", "session/store", "eventbus", "eventbus/event", "frontdoor/mcpserver/internal/exttask", "frontdoor/mcpserver/internal/mcphttp", "frontdoor/mcpserver/internal/transport"},

	"frontdoor/acpserver": {"taskt", "taskt/conversation", "session", "session/gate", "session/live", "session/store", "eventbus", "eventbus/event", "model", "frontdoor", "internal/mcpconfig"}, // conversations with editors

	"frontdoor/httpserver":      {"taskt", "taskt/control", "taskt/upkeep", "session", "session/audit", "session/store", "eventbus", "eventbus/event", "frontdoor", "model", "frontdoor/httpserver/certs", "frontdoor/httpserver/metrics", "frontdoor/httpserver/openapi", "frontdoor/httpserver/page", "frontdoor/httpserver/problem", "frontdoor/httpserver/tokens"},
	"frontdoor/httpserver/page": {"session", "session/gate", "session/live", "session/store", "eventbus", "eventbus/event", "model", "taskt/report", "frontdoor", "frontdoor/httpserver/problem"},

	"frontdoor/httpserver/metrics": nil,           // what Prometheus scrapes, and the only one that imports its client
	"frontdoor/httpserver/certs":   nil,           // a certificate as its files have it now
	"frontdoor/httpserver/tokens":  {"frontdoor"}, // the file of named tokens, for the door and the command that edits it
	"frontdoor/httpserver/openapi": nil,           // the description of the door, apart from its handlers
	"frontdoor/httpserver/problem": {"frontdoor"}, // errors in the form of RFC 9457, for the door and its page

	"frontdoor/internal/doortest": {"agentdefs", "taskt", "session", "eventbus", "model", "permission", "policy/policytest", "tool"}, // for tests of the doors

	"session/audit":        {"eventbus", "eventbus/event", "permission"},
	"session/conversation": {"model"},
	"session/gate":         {"session/store", "eventbus/event", "model", "permission", "permission/shell", "policy", "tool"},
	"session/hidden":       {"model"},
	"session/inbox":        {"session/record", "session/requests", "model"},
	"session/journal":      {"session/lease", "session/lifetime", "session/masking", "session/store", "eventbus", "eventbus/event", "model"},
	"session/lease":        {"eventbus"},
	"session/lifetime":     nil,
	"session/live":         {"session/store", "eventbus/event", "model"}, // what sessions do now, for every view
	"session/masking":      {"eventbus/event", "model"},
	"session/models":       {"session/hidden", "model"},
	"session/notes":        {"session/store", "eventbus/event", "permission", "tool"},
	"session/toolcall":     {"hooks", "internal/hookconfig", "session/audit", "session/gate", "session/inbox", "session/journal", "session/lifetime", "session/masking", "session/store", "eventbus/event", "model", "permission", "tool"},

	// What is stored of sessions, below what runs them: each may import those above it in this list.
	"session/record":     {"eventbus/event", "model"},
	"session/log":        {"session/hidden", "session/masking", "session/record", "eventbus/event", "model"}, // it knows no store
	"session/index":      {"session/log", "session/record", "eventbus", "eventbus/event"},
	"session/approval":   {"session/index", "session/record", "eventbus", "eventbus/event"},
	"session/transcript": {"session/hidden", "session/index", "session/log", "session/record", "eventbus", "eventbus/event", "model"},
	"session/outcome":    {"session/index", "session/log", "session/record", "session/transcript", "eventbus"},
	"session/requests":   {"session/index", "session/outcome", "session/record", "eventbus", "eventbus/event"},
	"session/integrity":  {"session/approval", "session/index", "session/lease", "session/log", "session/record", "eventbus", "eventbus/event"},
	"session/retention":  {"session/approval", "session/index", "session/log", "session/record", "eventbus", "eventbus/event"},
	"session/recovery":   {"session/approval", "session/index", "session/lease", "session/log", "session/outcome", "session/record", "session/requests", "eventbus", "eventbus/event", "model"},
	"session/store":      {"session/lease", "eventbus"},

	"taskt/conversation": {"agentdefs", "taskt", "session", "session/store", "internal/mcpconfig"}, // a person's, by 'worker run -i', the page and ACP
	"taskt/memory":       {"permission", "tool"},
	"taskt/planexit":     {"permission", "tool"},
	"taskt/route":        {"session"},
	"taskt/skilltool":    {"agentdefs/skills", "session/conversation", "permission", "tool"},
	"taskt/slots":        nil,
	"taskt/input":        {"agentdefs", "session/conversation", "tool", "internal/spendlimit"},
	"taskt/offer":        {"agentdefs", "tool", "taskt/input"},
	"taskt/workdir":      {"eventbus/event", "permission", "permission/glob", "tool", "internal/mcpconfig", "internal/worktree"},
	"taskt/budget":       {"session", "session/store", "eventbus/event", "model", "internal/spendlimit"},
	"taskt/control":      {"session", "session/store", "eventbus/event", "model", "tool", "permission", "taskt/report"},
	"taskt/upkeep":       {"session", "session/store", "internal/worktree", "taskt/control"},
	"taskt/report":       {"session/store", "eventbus/event"},

	"eventbus/internal/natsstore":            {"eventbus/internal/embedded", "eventbus/internal/oncelog", "eventbus/internal/storefiles"}, // below the bus: it knows no events
	"eventbus/internal/embedded":             {"eventbus/internal/oncelog", "eventbus/internal/storefiles"},
	"eventbus/internal/storefiles":           nil, // the files alone: it runs no server
	"eventbus/internal/oncelog":              nil,
	"frontdoor/mcpserver/internal/mcphttp":   {"frontdoor/mcpserver/internal/exttask", "frontdoor/mcpserver/internal/transport"},
	"frontdoor/mcpserver/internal/transport": {"frontdoor/mcpserver/internal/exttask"},
	"frontdoor/mcpserver/internal/exttask":   nil, // the Tasks extension on the wire

	// An agent file is read in this order, and found apart from that.
	"agentdefs/internal/agentdefstest": {"agentdefs", "permission"}, // for tests of the packages below
	"agentdefs/internal/diag":          nil,
	"agentdefs/internal/spelling":      nil,
	"agentdefs/internal/dialect":       {"agentdefs/internal/spelling"},
	"agentdefs/internal/agentfile":     {"agentdefs/internal/diag", "agentdefs/internal/dialect", "agentdefs/internal/spelling"},
	"agentdefs/internal/access":        {"agentdefs/internal/agentfile", "agentdefs/internal/diag", "agentdefs/internal/dialect", "agentdefs/internal/spelling", "permission", "permission/glob"},
	"agentdefs/internal/definition":    {"agentdefs/internal/access", "agentdefs/internal/agentfile", "agentdefs/internal/diag", "agentdefs/internal/dialect", "agentdefs/internal/spelling", "internal/hookconfig", "internal/mcpconfig", "internal/spendlimit", "permission", "permission/glob"},
	"agentdefs/internal/scan":          {"agentdefs/internal/diag", "agentdefs/internal/dialect"},
	"agentdefs/internal/watch":         {"agentdefs/internal/diag", "agentdefs/internal/scan"},

	"docs/examples": nil, // programs of others
}

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

func init() {
	for pkg, may := range mayImport {
		if pkg == "session/store" || slices.Contains(may, "session/store") {
			mayImport[pkg] = append(may, stored...)
		}
	}
	for _, leaf := range leaves {
		mayImport[leaf] = nil
	}
}

func TestImports(t *testing.T) {
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
		pkg := entry(filepath.ToSlash(dir))
		seen[pkg] = true
		allowed, ok := mayImport[pkg]
		wires := strings.HasPrefix(pkg, "cmd/") // it may import all of ours
		if !ok && !wires {
			t.Errorf("%s: the package is not in the table", path)
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
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("the table names %s, and there is no such package", pkg)
		}
	}
}

// isModule reports whether a folder is a module of its own, as bench is. What it
// may import of ours is what a user of the packages may.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// entry returns the table's entry for a package: its own, or that of the
// nearest folder above that has one.
func entry(dir string) string {
	for at := dir; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if _, ok := mayImport[at]; ok {
			return at
		}
	}
	return dir
}

// starters are the files that start a program whose name is not written there, and what it is.
// None starts git.
var starters = map[string]string{
	"cmd/worker/internal/settings/keys.go":     "the shell, for a key command",
	"cmd/worker/internal/settings/settings.go": "the shell of the settings is looked for",
	"cmd/worker/page.go":                       "the browser",
	"eventbus/natstest/disk_linux.go":          "the test itself",
	"hooks/run.go":                             "the shell, for a hook",
	"internal/chromium/chromium.go":            "Chromium",
	"internal/worktree/runner.go":              "git, hardened",
	"sandbox/internal/helper/call_linux.go":    "what a command names, inside of the sandbox",
	"sandbox/internal/helper/holder_linux.go":  "the helper itself",
	"tool/internal/stdio/process.go":           "an MCP server or a language server, inside of the sandbox",
	"tool/options.go":                          "the shell is looked for, on Windows beside git",
	"tool/shell_plain_other.go":                "the shell, for a command",
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
