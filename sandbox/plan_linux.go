package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/gitindex"
	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/symlink"
	"github.com/agentworker/worker/sandbox/internal/wire"
)

// systemFolders are what programs need of the system.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/run/current-system", "/run/systemd/resolve", "/run/opengl-driver",
}

// layout is what a command sees, for one of the ways to hold it.
type layout struct {
	mounts      []wire.Mount
	read, write []string // the second wall
	judged      []string
	watched     []string // where files are judged that come later
	free        []string
	racy        time.Time // when git has noted a hidden file, if it compares its content; zero means it does not
	plan        Plan
}

// key tells profiles apart.
func (p *Profile) key() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // nothing but strings and booleans
	}
	return string(b)
}

// roots are the folders in which single files may be denied.
func (p *Profile) roots() []string {
	roots := []string{p.Workspace}
	for _, g := range p.GitDirs {
		if !contains(p.Workspace, g) {
			roots = append(roots, g)
		}
	}
	for _, f := range p.Folders {
		if p.byRule(f) {
			roots = append(roots, f.Path)
		}
	}
	for _, f := range deniedGiven(p, readTool, writeTool, editTool) {
		roots = append(roots, f.Path)
	}
	return roots
}

// layout works out what a command sees. dir is the session's own folder. copied
// has the path of the copy for each folder with one.
func (p *Profile) layout(s *scanner, dir string, copied map[string]string) (*layout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trees, large, err := s.scan(p, p.key(), p.roots())
	if err != nil {
		return nil, err
	}
	l := &layout{}
	l.plan.NotLooked = large
	for _, f := range partlyWritable(p) {
		if slices.Contains(large, f.Path) {
			l.plan.NotHeld = append(l.plan.NotHeld, fmt.Sprintf("%s holds more than %d names: what rules deny to write there can be written", f.Path, maxGiven))
		}
	}
	l.system()
	add := func(m ...wire.Mount) { l.mounts = append(l.mounts, m...) }
	add(wire.Mount{Op: wire.OpProc, Target: "/proc"}, wire.Mount{Op: wire.OpDev, Target: "/dev"},
		wire.Mount{Op: wire.OpWrite, Source: filepath.Join(dir, "tmp"), Target: "/tmp", Own: true},
		wire.Mount{Op: wire.OpSymlink, Source: "/tmp", Target: "/var/tmp"})
	l.read = append(l.read, "/", "/proc")
	l.write = append(l.write, "/dev", "/tmp")
	l.free = append(l.free, "/tmp", "/dev/shm", "/dev/pts")
	if p.Home != "" && p.Home != "/" {
		add(wire.Mount{Op: wire.OpWrite, Source: filepath.Join(dir, "home"), Target: p.Home, Own: true})
		l.write = append(l.write, p.Home)
		l.free = append(l.free, p.Home)
	}
	folders := slices.Clone(p.Folders)
	slices.SortStableFunc(folders, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range folders {
		if contains(f.Path, p.Workspace) || f.Path == p.Home {
			continue // it would show what is in it as well
		}
		l.folder(f, copied[f.Path], f.Given && isTree(trees, f.Path) || p.byRule(f))
	}
	for _, g := range p.GitDirs {
		if contains(p.Workspace, g) {
			continue
		}
		access := Read
		if p.judge(g).write || p.Writable && p.GitOwn != nil { // the rest of it is frozen
			access = Write
		}
		l.folder(Folder{Path: g, Access: access}, "", true)
	}
	if err := p.workspace(l, s, trees); err != nil {
		return nil, err
	}
	p.hideOutside(l, s, trees)
	for _, tree := range trees {
		if !tree.hidden {
			l.watched = append(l.watched, tree.path)
		}
	}
	l.pinAbove()
	return l, nil
}

// pinAbove keeps the folders above each mounted tree where they are. In a folder in
// which anything may be made one could be renamed, and the tree would be at a path
// that no rule is about.
func (l *layout) pinAbove() {
	placed := make(map[string]bool)
	out := make([]wire.Mount, 0, len(l.mounts)+8)
	for _, m := range l.mounts {
		if m.Op == wire.OpRead || m.Op == wire.OpWrite || m.Op == wire.OpDir {
			for _, dir := range l.above(m.Target) {
				if !placed[dir] {
					placed[dir] = true
					out = append(out, wire.Mount{Op: wire.OpDir, Target: dir}, wire.Mount{Op: wire.OpPin, Target: dir})
				}
			}
			placed[m.Target] = true
		}
		out = append(out, m)
	}
	l.mounts = out
}

// above returns the folders between path and the free folder that it is in, the
// highest first.
func (l *layout) above(path string) (dirs []string) {
	free, held := "", ""
	longest := func(in []string) (best string) {
		for _, dir := range in {
			if dir != path && contains(dir, path) && len(dir) > len(best) {
				best = dir
			}
		}
		return best
	}
	if free, held = longest(l.free), longest(slices.Concat(l.read, l.judged)); free == "" || len(held) > len(free) {
		return nil
	}
	for dir := filepath.Dir(path); dir != free && contains(free, dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// workspace adds the workspace, and the parts of it and the other trees that
// are held.
func (p *Profile) workspace(l *layout, s *scanner, trees []*folder) error {
	var root *folder
	if len(trees) > 0 && trees[0].path == p.Workspace {
		root = trees[0]
	}
	readOnly := root == nil || root.frozen
	held, err := collect(trees, func() (map[id]verdict, bool) { return s.outside.look(p) })
	if err != nil {
		return err
	}
	add := func(op wire.Op, source, target string) {
		l.mounts = append(l.mounts, wire.Mount{Op: op, Source: source, Target: target})
	}
	switch {
	case root == nil || root.hidden:
		add(wire.OpDir, "", p.Workspace)
		l.read = append(l.read, p.Workspace)
		l.plan.Hidden = append(l.plan.Hidden, p.Workspace)
	case readOnly:
		add(wire.OpRead, p.Workspace, p.Workspace)
		l.read = append(l.read, p.Workspace)
		l.plan.ReadOnly = append(l.plan.ReadOnly, p.Workspace)
	default:
		add(wire.OpWrite, p.Workspace, p.Workspace)
		l.write = append(l.write, p.Workspace)
		l.judged = append(l.judged, p.Workspace)
		add(wire.OpPin, "", p.Workspace)
	}
	l.plan.pinned = append(held.pin, p.Workspace)
	for _, path := range held.pin {
		if path != p.Workspace {
			add(wire.OpPin, "", path)
		}
	}
	for _, path := range held.freeze {
		if path != p.Workspace {
			add(wire.OpFreeze, "", path)
			l.plan.ReadOnly = append(l.plan.ReadOnly, path)
		}
	}
	holdLinks(p, l, held, trees)
	tracked := p.tracked(l, held.hide)
	for _, path := range held.hide {
		if path != p.Workspace {
			l.mounts = append(l.mounts, wire.Mount{Op: wire.OpHide, Target: path, As: tracked[path]})
			l.plan.Hidden = append(l.plan.Hidden, path)
		}
	}
	// What is hidden by name may be in any folder that is there.
	for _, path := range slices.Concat(p.Hidden, closedTo(p.Folders)) {
		if _, err := os.Lstat(path); err == nil && l.shows(path) {
			add(wire.OpHide, "", path)
		}
	}
	for _, path := range secretsOf(p.Home) {
		if l.visible(path) {
			add(wire.OpHide, "", path)
		}
	}
	return nil
}

// holdLinks keeps links where they are: those that rules or what is protected are about, and all that the
// protected paths lead through.
func holdLinks(p *Profile, l *layout, held *findings, trees []*folder) {
	in := func(dirs []string, path string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return contains(dir, path) })
	}
	texts, frozen := make(map[string]string), slices.Clone(held.freeze)
	for _, link := range held.hold {
		walkLinks(link, texts)
		for _, path := range protectedBelow(p, link) {
			if end := walkLinks(path, texts); !in(frozen, end) {
				frozen = append(frozen, end)
			}
		}
	}
	placed := func(path string) bool {
		return !in(held.hide, path) && slices.ContainsFunc(trees, func(f *folder) bool { return f.path != path && contains(f.path, path) && !f.hidden })
	}
	for _, path := range frozen[len(held.freeze):] {
		if _, err := os.Lstat(path); err == nil && placed(path) {
			l.mounts = append(l.mounts, wire.Mount{Op: wire.OpFreeze, Target: path})
			l.plan.ReadOnly = append(l.plan.ReadOnly, path)
		}
	}
	for _, link := range slices.Sorted(maps.Keys(texts)) {
		if placed(link) && !in(held.freeze, filepath.Dir(link)) {
			l.mounts = append(l.mounts, wire.Mount{Op: wire.OpLink, Source: texts[link], Target: link})
			l.plan.ReadOnly = append(l.plan.ReadOnly, link)
		}
	}
}

// protectedBelow returns the protected paths that link is, or is on the way to.
func protectedBelow(p *Profile, link string) (paths []string) {
	for _, x := range p.Protected {
		if gitplace.Within(link, x) {
			paths = append(paths, x)
		}
	}
	for _, tail := range p.Anywhere {
		for head := tail; head != "."; head = filepath.Dir(head) {
			if gitplace.EndsIn(head, strings.TrimPrefix(link, p.Workspace+"/")) {
				paths = append(paths, link+tail[len(head):])
			}
		}
	}
	return paths
}

// walkLinks notes the text of each link on the way along path, and returns where that leads.
func walkLinks(path string, texts map[string]string) (at string) {
	at = "/"
	rest := symlink.Split(path)
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		next := filepath.Join(at, name) // also of "..": at is a real path
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		texts[next] = text
		root, err := rest.Follow(text)
		if err != nil {
			return at
		}
		if root != "" {
			at = root
		}
	}
	return at
}

// tracked returns how hidden files that git tracks look, and those in hidden folders, so that it
// takes them for unchanged. Where the index can't be read, they look like none.
func (p *Profile) tracked(l *layout, hidden []string) map[string][]wire.Placeholder {
	if len(hidden) == 0 {
		return nil
	}
	out, is := make(map[string][]wire.Placeholder), make(map[string]bool, len(hidden))
	for _, path := range hidden {
		is[path] = true
	}
	err := gitindex.Stats(p.Workspace, func(path string, s gitindex.Stat) {
		at, below := path, ""
		for !is[at] {
			if at == p.Workspace || at == filepath.Dir(at) {
				return
			}
			at = filepath.Dir(at)
		}
		if at != path {
			below = path[len(at)+1:]
		}
		if s.Racy && s.Modified.After(l.racy) {
			l.racy = s.Modified
		}
		out[at] = append(out[at], wire.Placeholder{Path: below, Size: s.Size, Modified: s.Modified.UnixNano(), Executable: s.Executable})
	})
	if err != nil {
		return nil
	}
	return out
}

// shows reports whether path is in something that is mounted from outside, and
// not hidden already.
func (l *layout) shows(path string) bool {
	best, shown := -1, false
	for _, m := range l.mounts {
		if !contains(m.Target, path) || len(m.Target) < best {
			continue
		}
		switch m.Op {
		case wire.OpRead, wire.OpWrite:
			best, shown = len(m.Target), m.Source == m.Target
		case wire.OpHide:
			return false
		}
	}
	return shown
}

// system adds the folders of the system. Some are links to others.
func (l *layout) system() {
	for _, path := range systemFolders {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(path); err == nil {
				l.mounts = append(l.mounts, wire.Mount{Op: wire.OpSymlink, Source: target, Target: path})
			}
		default:
			l.mounts = append(l.mounts, wire.Mount{Op: wire.OpRead, Source: path, Target: path, Optional: true})
			l.read = append(l.read, path)
		}
	}
}

// folder adds a folder of the profile. copied is the place of its copy.
func (l *layout) folder(f Folder, copied string, judged bool) {
	if _, err := os.Stat(f.Path); err != nil {
		return
	}
	if f.Access == Read && slices.ContainsFunc(systemFolders, func(s string) bool { return contains(s, f.Path) }) {
		return // it is there
	}
	op, source := wire.OpRead, f.Path
	switch {
	case f.Access == Copy && copied != "":
		op, source = wire.OpWrite, copied
		l.free = append(l.free, f.Path)
	case f.Access == Write:
		op = wire.OpWrite
		if judged {
			l.judged = append(l.judged, f.Path)
		} else {
			l.free = append(l.free, f.Path)
		}
	}
	if op == wire.OpRead {
		l.read = append(l.read, f.Path)
	} else {
		l.write = append(l.write, f.Path)
	}
	l.mounts = append(l.mounts, wire.Mount{Op: op, Source: source, Target: f.Path, Optional: true})
}
