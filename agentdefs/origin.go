package agentdefs

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// origin is a place of agent files that is read only where it is asked for.
type origin struct {
	name    string   // in [Options.From]
	folders []folder // below the workspace

	home   bool // they are below [Options.ToolsHome] instead
	nested bool // they are below folders of the workspace instead

	format   string        // what files may end in beside .md
	pathName bool          // an agent without a name has its path below the folder
	mode     Mode          // of an agent that names none; empty: subagent
	steps    int           // of an agent that names none; 0: DefaultMaxSteps
	time     time.Duration // of an agent that names none; 0: the worker's
	plain    bool          // in patterns only the star and the question mark are special
	asks     bool          // about each tool of tools that is not in allowedTools
	skip     string        // files whose names begin so are none
}

// origins are in the order of [Sources]; what comes later replaces what comes
// before.
var origins = []origin{
	{name: "claude-user", home: true, folders: []folder{{shown: ".claude/agents", nested: true}}},
	{name: "packages", nested: true, folders: workspaceFolders},
	{name: "opencode", folders: []folder{{shown: ".opencode/agent", nested: true}, {shown: ".opencode/agents", nested: true}}, pathName: true, mode: All, plain: true},
	{name: "github", folders: []folder{{shown: ".github/agents"}}},
	{name: "gemini", folders: []folder{{shown: ".gemini/agents"}}, steps: 30, time: 10 * time.Minute, skip: "_"},
	{name: "cursor", folders: []folder{{shown: ".cursor/agents"}}},
	{name: "qwen", folders: []folder{{shown: ".qwen/agents"}}},
	{name: "kiro", folders: []folder{{shown: ".kiro/agents"}}, format: ".json", asks: true},
	{name: "factory", folders: []folder{{shown: ".factory/droids"}}},
	{name: "codex", folders: []folder{{shown: ".codex/agents", nested: true}}, format: ".toml"},
	{name: "claude", folders: []folder{{shown: ".claude/agents", nested: true}}},
}

// Sources returns what [Options.From] may name, besides "all".
func Sources() []string {
	var names []string
	for _, o := range origins {
		names = append(names, o.name)
	}
	return names
}

// dialect returns the origin whose folder a file is in, and its path below that
// folder; the zero origin: none in particular.
func dialect(file string) (o origin, below string) {
	file = "/" + file
	for _, o := range origins {
		if o.home || o.nested {
			continue
		}
		for _, f := range o.folders {
			if i := strings.LastIndex(file, "/"+f.shown+"/"); i >= 0 {
				return o, file[i+len(f.shown)+2:]
			}
		}
	}
	return origin{}, path.Base(file)
}

// agentFile reports whether a file is one of an agent by its path.
func agentFile(file string) bool {
	o, _ := dialect(file)
	name := path.Base(file)
	return !strings.HasPrefix(name, ".") && (o.skip == "" || !strings.HasPrefix(name, o.skip)) &&
		(strings.HasSuffix(name, ".md") || o.format != "" && strings.HasSuffix(name, o.format))
}

// from returns the origins that opts asks for, in the order of merging: as they
// are named, and for "all" as the table has them.
func (opts *Options) from() []origin {
	if slices.Contains(opts.From, "all") {
		return origins
	}
	var out []origin
	for _, name := range opts.From {
		for _, o := range origins {
			if o.name == name && !slices.ContainsFunc(out, func(have origin) bool { return have.name == name }) {
				out = append(out, o)
			}
		}
	}
	return out
}

// origin lists the folders of o.
func (s *scan) origin(root string, o origin, home string) {
	if o.home {
		if home == "" {
			s.listings = append(s.listings, listing{})
			return
		}
		s.further(filepath.Join(home, filepath.FromSlash(o.folders[0].shown)), true)
		return
	}
	var l listing
	defer func() { s.listings = append(s.listings, l) }()
	first := workspaceFolders[0].shown
	if o.name == "claude" {
		own, err := s.disk.isFolder(filepath.Join(root, filepath.FromSlash(first)))
		if err != nil {
			s.lose(&l, first, o.folders[0].shown, err)
		}
		if !own {
			return // it is the workspace's own
		}
	}
	real, info, err := s.outside(root)
	if err != nil && !nothingThere(err) {
		s.lose(&l, ".", "", err)
	}
	if err != nil || !info.IsDir() {
		return
	}
	l.read("")
	folders := o.folders
	if o.nested {
		folders = packageFolders(s.disk, real, func(dir string, err error) {
			if err == nil {
				l.read(dir)
			} else if s.before != nil && s.before.listings[len(s.listings)].folders[dir] {
				s.lose(&l, dir, dir, err)
			}
		})
	}
	for _, f := range folders {
		at, dir, err := s.follow(real, info, f.shown)
		switch {
		case err == nil && dir.IsDir():
			s.list(&l, f, at, dir)
		case err != nil && !nothingThere(err):
			s.lose(&l, f.shown, f.shown, err)
		}
	}
}

// also reports whether the workspace's folder is read by an origin.
func (s *scan) also(shown string) bool {
	return slices.ContainsFunc(s.from, func(o origin) bool { return o.name == "claude" && o.folders[0].shown == shown })
}

// Bounds of the search for folders of agent files within a workspace.
const (
	packageDepth = 4    // of the folder that holds one
	maxPackages  = 2000 // that are looked into
)

// notPackages are folders in which nobody's own agents are.
var notPackages = []string{"node_modules", "vendor", "testdata", "dist", "build", "target", "venv", "__pycache__"}

// packageFolders returns the folders of the workspace at root, below its top,
// that the contract names: packages/x/.claude/agents. looked is called for each
// folder that was looked into, with the error of those that can't be; nil: it
// need not be.
func packageFolders(disk *disk, root string, looked func(dir string, err error)) []folder {
	var out []folder
	walkPackages(disk, root, packageDepth, true, looked, func(dir string) {
		if dir == "." {
			return
		}
		for _, f := range workspaceFolders {
			at := path.Join(dir, f.shown)
			if is, err := disk.isFolder(filepath.Join(root, filepath.FromSlash(at))); is || err != nil {
				out = append(out, folder{shown: at, nested: f.nested})
				break
			}
		}
	})
	return out
}

// walkPackages calls yield for root, as ".", and the folders below it to some
// depth, but not for those that are hidden or hold what is not the project's,
// nor, where ownRepositories says so, for repositories within it. looked is that
// of packageFolders.
func walkPackages(disk *disk, root string, depth int, ownRepositories bool, looked func(dir string, err error), yield func(dir string)) {
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
		entries, err := disk.readDir(filepath.Join(root, filepath.FromSlash(dir)))
		if looked != nil && (err == nil || !nothingThere(err)) {
			looked(dir, err)
		}
		if err != nil {
			return
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			if ownRepositories && e.IsDir() && disk.isThere(filepath.Join(root, filepath.FromSlash(at), ".git")) {
				continue
			}
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(notPackages, e.Name()) {
				walk(at, depth-1)
			}
		}
	}
	walk(".", depth)
}

// isFolder reports whether path leads to a folder; an error means that this
// can't be known.
func (d *disk) isFolder(path string) (bool, error) {
	info, err := d.stat(path)
	switch {
	case err == nil:
		return info.IsDir(), nil
	case nothingThere(err):
		return false, nil
	}
	return false, err
}

func (d *disk) isThere(path string) bool {
	_, err := d.lstat(path)
	return err == nil
}
