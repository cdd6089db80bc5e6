package gate

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/permission"
)

// Readable returns what reports whether neither read_file nor the tool of a name, which
// lists or searches, would be denied for a path: by the rules of its first use.
func (p *Policy) Readable(r *Rules, who permission.Who, workspace permission.Workspace, name string) func(path string) bool {
	var once sync.Once
	var judge func(path string) bool
	return func(path string) bool {
		once.Do(func() { judge = p.pathJudge(r, who, workspace, name) })
		return judge(path)
	}
}

func (p *Policy) pathJudge(r *Rules, who permission.Who, workspace permission.Workspace, name string) func(path string) bool {
	rules, err := p.Layers(r, who, "", nil)
	if err != nil {
		return func(string) bool { return false }
	}
	judged := []string{"read_file"}
	if slices.ContainsFunc(rules.All(), func(r *permission.Ruleset) bool { return r.DeniesSome(name) }) {
		judged = append(judged, name)
	}
	found := &foundPaths{workspace: workspace, plain: make(map[string]bool)}
	return func(path string) bool {
		for _, as := range judged {
			values, err := found.values(as, path)
			if err != nil || rules.Decide(values).Action == permission.Deny {
				return false
			}
		}
		return true
	}
}

// foundPaths returns the values of paths that one call finds. It looks at each
// folder once. Safe for concurrent use.
type foundPaths struct {
	workspace permission.Workspace

	mu    sync.Mutex
	plain map[string]bool // folders below which a file has just its own name, unless it is a link
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
	// Whether the folder takes names in any case, a name tells that is there and
	// has a letter.
	if err == nil && own && len(values) == 1 && values[0].Text == name && strings.ToLower(base) != strings.ToUpper(base) {
		f.mu.Lock()
		f.plain[dir] = true
		f.mu.Unlock()
	}
	return values, err
}
