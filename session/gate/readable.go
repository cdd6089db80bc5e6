package gate

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// Readable returns a function that reports whether a listing or searching tool may show a path:
// rules deny neither that tool nor read_file. It applies the rules of its first call.
func (p *Policy) Readable(r *Rules, who permission.Who, workspace permission.Workspace, name string) func(path string) bool {
	var once sync.Once
	var readable func(path string) bool
	return func(path string) bool {
		once.Do(func() { readable = p.readable(r, who, workspace, name) })
		return readable(path)
	}
}

func (p *Policy) readable(r *Rules, who permission.Who, workspace permission.Workspace, name string) func(path string) bool {
	rules, err := p.Layers(r, who, "", nil)
	if err != nil {
		return func(string) bool { return false }
	}
	tools := []string{toolcatalog.ReadFile}
	if slices.ContainsFunc(rules.All(), func(r *permission.Ruleset) bool { return r.DeniesSome(name) }) {
		tools = append(tools, name)
	}
	found := &foundPaths{workspace: workspace, plain: make(map[string]bool)}
	return func(path string) bool {
		for _, as := range tools {
			values, err := found.values(as, path)
			if err != nil || rules.Decide(values).Action == permission.Deny {
				return false
			}
		}
		return true
	}
}

// foundPaths returns the values of paths that one call finds. It looks at each folder once. It
// is safe for concurrent use.
type foundPaths struct {
	workspace permission.Workspace

	mu    sync.Mutex
	plain map[string]bool // folders in which files have no second name, unless they are links
}

// values is [permission.Workspace.PathValues].
func (f *foundPaths) values(tool, name string) ([]permission.Value, error) {
	dir, base := path.Split(name)
	f.mu.Lock()
	plain := f.plain[dir]
	f.mu.Unlock()
	abs := filepath.Join(f.workspace.Root, filepath.FromSlash(name))
	info, statErr := os.Lstat(abs)
	own := statErr == nil && info.Mode()&fs.ModeSymlink == 0 && base != "" && base != "." && base != ".."
	if plain && own {
		return []permission.Value{f.workspace.FileValue(tool, abs)}, nil
	}
	values, err := f.workspace.PathValues(tool, name)
	// A name with a letter shows whether the folder accepts names in any case.
	if err == nil && own && len(values) == 1 && values[0].Text == name && strings.ToLower(base) != strings.ToUpper(base) {
		f.mu.Lock()
		f.plain[dir] = true
		f.mu.Unlock()
	}
	return values, err
}
