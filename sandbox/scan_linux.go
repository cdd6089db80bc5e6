package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/gitplace"
	"golang.org/x/sys/unix"
)

// scanner finds the parts of a workspace that the rules deny. It remembers each
// folder as long as that has not changed, and the rules have not. Safe for
// concurrent use.
type scanner struct {
	mu      sync.Mutex
	profile *Profile
	key     string // of the rules that the tree was judged by
	tree    map[string]*folder
	shown   map[string]*shownFolder // beside the workspace
	budget  int                     // names that may still be judged
	outside outsideLook
}

// maxNames bounds the names of a workspace that are judged.
const maxNames = 2_000_000

// maxGiven bounds those of a folder that a person has named.
var maxGiven = 100_000

// folder is what is known of one folder.
type folder struct {
	path    string
	stamp   stamp
	settled bool // the stamp was old when the folder was read
	self    verdict
	subs    []*folder
	held    []name // files that the rules deny something of
	linked  []name // files without a deny, that have other names
	files   int    // regular files and the like without a deny
	readAny bool   // some file may be read
	writes  bool   // some file may be written
	names   int
	folds   bool // it takes names in any case

	// Of the folder and all below it, in the last pass.
	hidden, frozen, clear bool
}

// stamp tells versions of a folder apart. A program can set the times of a
// folder, except for its change time.
type stamp struct {
	dev, ino uint64
	change   int64
}

func stampOf(st *unix.Stat_t) stamp { return stamp{st.Dev, st.Ino, st.Ctim.Nano()} }

// name is a file in a folder.
type name struct {
	base     string
	verdict  verdict
	symlink  bool
	dev, ino uint64
	links    uint64 // names that the file has
}

// settleTime is how old a change of a folder has to be for its time to tell a
// later one apart: file systems count in ticks.
const settleTime = 50 * time.Millisecond

// scan returns the trees of the profile's folders in which rules deny files:
// the workspace first. large are folders that a person has named. They have more names
// than are judged, and are not among the trees.
func (s *scanner) scan(p *Profile, key string, roots []string) (out []*folder, large []string, err error) {
	if s.tree == nil || s.key != key {
		s.tree, s.shown, s.key = make(map[string]*folder), make(map[string]*shownFolder), key
	}
	s.profile, s.budget = p, maxNames
	for _, root := range roots {
		_, given := givenFolder(p, root)
		if given {
			s.budget = maxGiven
		}
		f, err := s.folder(root)
		switch {
		case err != nil:
			return nil, nil, err
		case given && s.budget < 0:
			large = append(large, root)
		case f != nil:
			out = append(out, f)
		}
	}
	return out, large, nil
}

// isTree reports whether the folder at path is one of the trees.
func isTree(trees []*folder, path string) bool {
	return slices.ContainsFunc(trees, func(f *folder) bool { return f.path == path })
}

// folder returns the present folder at path; nil means that there is none.
func (s *scanner) folder(path string) (*folder, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, ignoreGone(err)
	}
	if len(path) > maxScannedPath || s.budget < 0 {
		return unseen(path), nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, nil
	}
	now := stampOf(&st)
	f := s.tree[path]
	if f == nil || f.stamp != now || !f.settled {
		var err error
		if f, err = s.read(path, now, f); err != nil || f == nil {
			return nil, err
		}
		s.tree[path] = f
	}
	if s.budget -= f.names; s.budget < 0 {
		return unseen(path), nil
	}
	p := s.profile
	f.hidden = !f.self.read && !f.readAny
	f.frozen = !f.self.write && !f.writes
	f.clear = f.self.read && f.self.write && len(f.held) == 0 && len(f.linked) == 0
	kept := f.subs[:0:len(f.subs)]
	for _, sub := range f.subs {
		sub, err := s.folder(sub.path)
		if err != nil {
			return nil, err
		}
		if sub == nil {
			continue
		}
		kept = append(kept, sub)
		f.hidden = f.hidden && sub.hidden
		f.frozen = f.frozen && sub.frozen
		f.clear = f.clear && sub.clear
	}
	f.subs = kept
	empty := len(f.held)+len(f.linked)+f.files+len(f.subs) == 0
	f.hidden = f.hidden && !p.mayCome(readTool, path, empty)
	f.frozen = f.frozen && !(p.Writable && p.mayCome(writeTool, path, empty))
	return f, nil
}

// maxScannedPath bounds the bytes of a path that is looked at: mounts need longer ones.
const maxScannedPath = 3000

// unseen is a folder that could not be looked at: nothing in it is allowed.
func unseen(path string) *folder { return &folder{path: path, hidden: true, frozen: true} }

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// read reads and judges a folder.
func (s *scanner) read(path string, now stamp, old *folder) (*folder, error) {
	settled := time.Now().UnixNano()-now.change > int64(settleTime)
	entries, err := readDir(path)
	if err != nil && ignoreGone(err) == nil {
		return nil, nil
	}
	if err == nil { // names without what they name, where the right to enter lacks
		var st unix.Stat_t
		err = unix.Lstat(path+"/.", &st)
	}
	if err != nil {
		return unseen(path), nil
	}
	f := &folder{path: path, stamp: now, settled: settled, self: s.profile.judge(path), names: len(entries), folds: s.profile.folds(path + "/x")}
	_, inner, inGit := s.profile.gitDir(path)
	for _, e := range entries {
		abs := path + "/" + e.Name()
		if e.IsDir() {
			if inGit && (inner == "" || strings.HasPrefix(inner, "modules/")) && slices.Contains(gitData, e.Name()) && s.profile.ownGit(abs) {
				continue
			}
			f.subs = append(f.subs, &folder{path: abs})
			continue
		}
		n := name{base: e.Name(), verdict: s.profile.judgeIn(abs, f.folds), symlink: e.Type()&fs.ModeSymlink != 0}
		if gitplace.IsDotGit(e.Name()) || n.symlink && leadsToProtected(s.profile, abs) { // it says where settings are found
			n.verdict.write = false
		}
		free := n.verdict.read && n.verdict.write
		links := uint64(1)
		if !n.symlink {
			var st unix.Stat_t
			if err := unix.Lstat(abs, &st); err != nil {
				if ignoreGone(err) != nil {
					return unseen(path), nil
				}
				continue
			}
			links, n.dev, n.ino = uint64(st.Nlink), st.Dev, st.Ino
			n.links = links
		}
		f.readAny = f.readAny || n.verdict.read
		f.writes = f.writes || n.verdict.write
		switch {
		case !free:
			f.held = append(f.held, n)
		case links > 1:
			f.linked = append(f.linked, n)
		default:
			f.files++
		}
	}
	return f, nil
}

// readDir reads a folder without following a link, and without sorting.
func readDir(path string) ([]fs.DirEntry, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	return file.ReadDir(-1)
}

// findings are the parts of the scanned trees that a command must not see or
// change.
type findings struct {
	hide   []string // cannot be opened
	freeze []string // can be read
	pin    []string // can be neither moved nor removed
	links  []string // symlinks that the rules deny: what they lead to is hidden
	hold   []string // symlinks that can be neither moved nor removed
}

// maxMounts bounds the mounts of one command. Beyond it folders are hidden
// instead of single files.
const (
	maxMounts       = 10_000
	maxHeldPerPlace = 300
)

// find goes through a tree and collects what is denied, at the highest place
// where all is.
func (x *findings) find(f *folder, frozen bool, same map[id]verdict) {
	switch {
	case f.clear && len(same) == 0:
		return
	case f.hidden:
		x.hide = append(x.hide, f.path)
		return
	case frozen:
	case f.frozen:
		x.freeze = append(x.freeze, f.path)
		frozen = true
	case !f.self.write:
		x.pin = append(x.pin, f.path)
	}
	held := f.held
	for _, n := range f.linked {
		if v, ok := same[id{n.dev, n.ino}]; ok {
			n.verdict = v
			held = append(held[:len(held):len(held)], n)
		}
	}
	if len(held) > maxHeldPerPlace {
		if slices.ContainsFunc(held, func(n name) bool { return !n.verdict.read }) {
			x.hide = append(x.hide, f.path)
			return
		}
		if !frozen {
			x.freeze = append(x.freeze, f.path)
			frozen = true
		}
	}
	for _, n := range held {
		path := f.path + "/" + n.base
		switch {
		case n.symlink:
			if !n.verdict.read {
				x.links = append(x.links, path)
			}
			if !n.verdict.write && !frozen {
				x.hold = append(x.hold, path)
			}
		case !n.verdict.read:
			x.hide = append(x.hide, path)
		case !frozen:
			x.freeze = append(x.freeze, path)
		}
	}
	for _, sub := range f.subs {
		x.find(sub, frozen, same)
	}
}

// id tells files apart.
type id [2]uint64

// inodes collects the files that rules deny something of, by which their other
// names are found, and the names that each file with several has here.
func (f *folder) inodes(same map[id]verdict, names map[id]uint64) {
	for _, n := range f.linked {
		names[id{n.dev, n.ino}]++
	}
	for _, n := range f.held {
		if n.ino == 0 {
			continue
		}
		names[id{n.dev, n.ino}]++
		same[id{n.dev, n.ino}] = both(same, id{n.dev, n.ino}, n.verdict)
	}
	for _, sub := range f.subs {
		sub.inodes(same, names)
	}
}

// both is what holds for a file of which one name has a verdict.
func both(same map[id]verdict, file id, v verdict) verdict {
	if old, ok := same[file]; ok {
		return verdict{v.read && old.read, v.write && old.write}
	}
	return v
}

// unknown judges files that have names outside of the trees, by what rules deny there. It reports whether
// any file has several names.
func (f *folder) unknown(same map[id]verdict, names map[id]uint64, outside func() (map[id]verdict, bool)) (linked bool) {
	for _, n := range f.linked {
		file := id{n.dev, n.ino}
		if linked = true; names[file] >= n.links {
			continue
		}
		if denied, all := outside(); !all {
			same[file] = verdict{}
		} else if v, ok := denied[file]; ok {
			same[file] = both(same, file, v)
		}
	}
	for _, sub := range f.subs {
		linked = sub.unknown(same, names, outside) || linked
	}
	return linked
}

// collect returns what the trees hold that must not be seen or changed. outside has the files that rules deny
// elsewhere.
func collect(trees []*folder, outside func() (map[id]verdict, bool)) (*findings, error) {
	same, names := make(map[id]verdict), make(map[id]uint64)
	linked := false
	for _, f := range trees {
		f.inodes(same, names)
	}
	for _, f := range trees {
		linked = f.unknown(same, names, outside) || linked
	}
	if !linked {
		same = nil
	}
	x := &findings{}
	for _, f := range trees {
		x.find(f, false, same)
	}
	for _, link := range x.links {
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			continue // it leads nowhere
		}
		for _, f := range trees {
			if contains(f.path, target) && target != f.path && !slices.ContainsFunc(x.hide, func(h string) bool { return contains(h, target) }) {
				x.hide = append(x.hide, target)
			}
		}
	}
	if n := len(x.hide) + len(x.freeze) + len(x.pin); n > maxMounts {
		return nil, fmt.Errorf("the rules deny %d single files of the workspace, more than %d: deny their folders", n, maxMounts)
	}
	x.hide = outermost(x.hide)
	// A folder before what is in it: mounted later, it would cover that.
	for _, list := range []*[]string{&x.hide, &x.freeze, &x.pin} {
		slices.Sort(*list)
	}
	return x, nil
}
