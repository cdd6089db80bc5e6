package scan

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Bounds of the search for folders of agent files within a workspace.
const (
	packageDepth = 4    // of the folder that holds one
	maxPackages  = 2000 // that are looked into
)

// notPackages are folders whose files are not the project's own.
var notPackages = []string{"node_modules", "vendor", "testdata", "dist", "build", "target", "venv", "__pycache__"}

// packageFolders returns the folders of the workspace at root, below its top,
// that hold agent files by convention: packages/x/.claude/agents. It calls looked
// for each folder that it reads, with the error if that fails. looked may be nil.
func packageFolders(d *disk.Disk, root string, looked func(dir string, err error)) []dialect.Folder {
	var out []dialect.Folder
	walkPackages(d, root, packageDepth, true, looked, func(dir string) {
		if dir == "." {
			return
		}
		for _, f := range dialect.WorkspaceFolders {
			at := path.Join(dir, f.Shown)
			if is, err := d.IsFolder(filepath.Join(root, filepath.FromSlash(at))); is || err != nil {
				out = append(out, dialect.Folder{Shown: at, Nested: f.Nested})
				break
			}
		}
	})
	return out
}

// walkPackages calls yield for root, as ".", and the folders below it to some
// depth. It skips hidden folders and those of dependencies; with ownRepositories
// it skips repositories within root, too. looked is as in packageFolders.
func walkPackages(d *disk.Disk, root string, depth int, ownRepositories bool, looked func(dir string, err error), yield func(dir string)) {
	left := maxPackages
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		if left--; left < 0 {
			return
		}
		yield(dir)
		if depth == 0 {
			return
		}
		entries, err := d.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if looked != nil && (err == nil || !disk.NotThere(err)) {
			looked(dir, err)
		}
		if err != nil {
			return
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			if ownRepositories && e.IsDir() && d.Exists(filepath.Join(root, filepath.FromSlash(at), ".git")) {
				continue
			}
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(notPackages, e.Name()) {
				walk(at, depth-1)
			}
		}
	}
	walk(".", depth)
}

// countAgentFiles counts the agent files in a folder. It leaves out likely
// documentation. enter is called for each folder before it is read; it may be nil.
func countAgentFiles(d *disk.Disk, dir, shown string, f dialect.Folder, enter func(dir string)) (n int) {
	const most, deepest = 1000, 4
	var walk func(dir, shown string, depth int)
	walk = func(dir, shown string, depth int) {
		if enter != nil {
			enter(dir)
		}
		entries, err := d.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			at := path.Join(shown, e.Name())
			switch {
			case n == most:
				return
			case e.IsDir() && f.Nested && depth < deepest && !strings.HasPrefix(e.Name(), "."):
				walk(filepath.Join(dir, e.Name()), at, depth+1)
			case e.IsDir() && slices.ContainsFunc(f.Each, func(name string) bool { return d.Exists(filepath.Join(dir, e.Name(), name)) }):
				n++
			case !e.IsDir() && dialect.IsAgentFile(at) && !dialect.IsDocumentation(at):
				n++
			}
		}
	}
	walk(dir, shown, 0)
	return n
}
