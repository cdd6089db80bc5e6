// Package architecture holds the drawing of the packages against the code: the
// table below is the one in docs/architecture.md.
package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agentworker/worker/"

// leaves import none of ours, and all may import them.
var leaves = []string{"internal/atomicfile", "internal/errtext", "internal/suggest", "internal/termtext"}

// mayImport says, for each package, which of ours it may import besides the
// leaves. A package below another stands under its entry unless it has one of its
// own.
var mayImport = map[string][]string{
	"permission":         {"permission/glob"},
	"permission/glob":    nil,
	"permission/shell":   {"permission", "permission/glob"},
	"eventbus":           {"eventbus/event"},
	"eventbus/event":     nil,
	"model":              nil,
	"sandbox":            {"permission", "permission/glob"},
	"internal/workspace": nil,
	"agentdefs":          {"permission", "permission/glob"},
	"tool":               {"permission", "permission/shell"},
	"session":            {"eventbus", "eventbus/event", "permission", "permission/shell", "model", "tool"},
	"taskt":              {"agentdefs", "session", "eventbus", "eventbus/event", "tool", "permission"},
	"frontdoor":          {"taskt", "session", "eventbus", "eventbus/event", "frontdoor/mcpserver/internal/mcphttp"},

	"frontdoor/mcpserver/internal/mcphttp": nil,
}

func init() {
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
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
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
		if strings.HasPrefix(pkg, "cmd/") {
			return nil // it wires the rest
		}
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("%s: the package is not in the table", path)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if !ours {
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
