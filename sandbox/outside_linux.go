package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// maxOutside bounds the names that are looked at below one folder outside of the
// workspace. A folder with more is hidden as a whole.
const maxOutside = 5000

var errManyNames = errors.New("more names than are looked at")

// hideOutside hides what rules deny by absolute paths in the folders that are shown
// beside the workspace.
func (p *Profile) hideOutside(l *layout, s *scanner, trees []*folder) {
	var denied []string
	for _, place := range p.deniedPlaces(readTool) {
		for _, m := range l.mounts {
			if m.Op != wire.OpRead && m.Op != wire.OpWrite || contains(p.Workspace, m.Target) || slices.ContainsFunc(trees, func(f *folder) bool { return contains(f.path, m.Target) }) {
				continue
			}
			switch {
			case contains(m.Target, place):
				denied = append(denied, p.deniedBelow(l, s, m.Target, place)...)
			case contains(place, m.Target) && slices.Contains(systemFolders, m.Target) && !p.denies(m.Target):
				l.plan.NotLooked = append(l.plan.NotLooked, m.Target)
			case contains(place, m.Target):
				denied = append(denied, p.deniedBelow(l, s, m.Target, m.Target)...)
			}
		}
	}
	denied = append(denied, p.deniedAnywhere(l, s, trees)...)
	slices.Sort(denied)
	for _, path := range slices.Compact(denied) {
		if l.covered(path) || !l.visible(path) {
			continue
		}
		l.mounts = append(l.mounts, wire.Mount{Op: wire.OpHide, Target: path})
		l.plan.Hidden = append(l.plan.Hidden, path)
	}
}

// denies reports whether rules deny to read the absolute path.
func (p *Profile) denies(abs string) bool { return p.decide(readTool, abs) == permission.Deny }

// deniedAnywhere returns what rules deny to read by a pattern for any place, as
// "*.pem", in folders that are shown beside the workspace. Not looked at are the system,
// except for /opt, where such names are of certificates, and copies of caches.
func (p *Profile) deniedAnywhere(l *layout, s *scanner, trees []*folder) (out []string) {
	if !slices.ContainsFunc(p.Rules, func(layer Rules) bool {
		return layer.Layer != permission.LayerDefault && slices.ContainsFunc(layer.Rules, func(r permission.Rule) bool {
			return r.Action == permission.Deny && strings.HasPrefix(r.Pattern, "*") && about(r, readTool)
		})
	}) {
		return nil
	}
	left := maxOutside
	for _, system := range []bool{false, true} {
		for _, m := range l.mounts {
			switch isSystem := slices.Contains(systemFolders, m.Target); {
			case m.Op != wire.OpRead || m.Source != m.Target || isSystem != system || m.Target == p.Workspace || isTree(trees, m.Target):
			case slices.Contains(p.Programs, m.Target):
			case isSystem && m.Target != "/opt":
				l.plan.NotLooked = append(l.plan.NotLooked, m.Target)
			default:
				found, err := p.walkDenied(l, s, m.Target, m.Target, &left)
				out = append(out, found...)
				if err != nil {
					l.plan.NotLooked = append(l.plan.NotLooked, m.Target)
				}
			}
		}
	}
	slices.Sort(l.plan.NotLooked)
	l.plan.NotLooked = slices.Compact(l.plan.NotLooked)
	return out
}

// deniedBelow returns the files at place and below it that rules deny to read, within the tree
// that is mounted. A place with too many files is denied as a whole.
func (p *Profile) deniedBelow(l *layout, s *scanner, mounted, place string) []string {
	left := maxOutside
	out, err := p.walkDenied(l, s, mounted, place, &left)
	switch {
	case err == nil:
		return out
	case slices.Contains(systemFolders, place):
		l.plan.NotLooked = append(l.plan.NotLooked, place)
		return out
	}
	return []string{place}
}

// walkDenied is deniedBelow for as many names as are left.
func (p *Profile) walkDenied(l *layout, s *scanner, mounted, place string, left *int) (out []string, err error) {
	if *left--; *left < 0 {
		return nil, errManyNames
	}
	var st unix.Stat_t
	if err := unix.Lstat(place, &st); err != nil {
		if ignoreGone(err) == nil {
			return nil, nil
		}
		return []string{place}, nil
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFLNK && place != mounted { // a mount covers what it leads to
		if !p.denies(place) {
			return nil, nil
		}
		if real, err := filepath.EvalSymlinks(place); err == nil && l.shows(real) {
			out = []string{real}
		}
		return out, nil
	} else if p.denies(place) {
		return []string{place}, nil
	} else if kind != unix.S_IFDIR {
		return nil, nil
	}
	err = walkDeniedIn(p, l, s, place, stampOf(&st), left, &out)
	return out, err
}

// shownFolder is what rules deny of the names in a folder beside the workspace.
type shownFolder struct {
	stamp   stamp
	settled bool // the stamp was old when the folder was read
	closed  bool // it can't be listed
	names   int
	denied  []string
	links   []string // denied symlinks
	subs    []string
}

// walkDeniedIn is walkDenied for what is in a folder. A folder that has not changed is not read again.
func walkDeniedIn(p *Profile, l *layout, s *scanner, dir string, now stamp, left *int, out *[]string) error {
	f := s.shown[dir]
	if f == nil || f.stamp != now || !f.settled {
		f = readShown(p, dir, now)
		if len(s.shown) >= maxNames/10 {
			clear(s.shown)
		}
		s.shown[dir] = f
	}
	if *left -= f.names; *left < 0 {
		return errManyNames
	}
	if f.closed {
		*out = append(*out, dir)
	}
	for _, name := range f.denied {
		*out = append(*out, dir+"/"+name)
	}
	for _, name := range f.links {
		if real, err := filepath.EvalSymlinks(dir + "/" + name); err == nil && l.shows(real) {
			*out = append(*out, real)
		}
	}
	for _, name := range f.subs {
		var st unix.Stat_t
		switch err := unix.Lstat(dir+"/"+name, &st); {
		case ignoreGone(err) != nil:
			*out = append(*out, dir+"/"+name)
		case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
			if err := walkDeniedIn(p, l, s, dir+"/"+name, stampOf(&st), left, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// readShown reads and judges a folder, unless it has too many names.
func readShown(p *Profile, dir string, now stamp) *shownFolder {
	f := &shownFolder{stamp: now, settled: time.Now().UnixNano()-now.change > int64(settleTime)}
	entries, err := readDir(dir)
	if err != nil {
		f.closed = ignoreGone(err) != nil
		return f
	}
	if f.names = len(entries); f.names > maxOutside {
		return f
	}
	folds := p.folds(dir + "/x")
	for _, e := range entries {
		name := e.Name()
		switch denied := p.decideIn(readTool, dir+"/"+name, folds) == permission.Deny; {
		case denied && e.Type()&fs.ModeSymlink != 0:
			f.links = append(f.links, name)
		case denied:
			f.denied = append(f.denied, name)
		case e.IsDir():
			f.subs = append(f.subs, name)
		}
	}
	return f
}

// outsideLook is the last look for files that rules deny outside of the workspace, by which a hard link to one
// is known. It is repeated when twenty times as long has passed as it took.
type outsideLook struct {
	key   string
	when  time.Time
	took  time.Duration
	found map[id]verdict
	all   bool
}

// maxDeniedOutside bounds the names that are looked at for it.
const maxDeniedOutside = 50_000

// look returns the denied files. all: there are no others.
func (o *outsideLook) look(p *Profile) (found map[id]verdict, all bool) {
	began := time.Now()
	if key := p.key(); o.found == nil || o.key != key || began.Sub(o.when) > 20*o.took {
		o.key, o.found, o.all = key, make(map[id]verdict), true
		left := maxDeniedOutside
		for _, place := range p.deniedPlaces(readTool, writeTool, editTool) {
			o.all = deniedFiles(p, place, o.found, &left) == nil && o.all
		}
		o.when, o.took = time.Now(), time.Since(began)
	}
	return o.found, o.all
}

// deniedFiles adds the files at place and below it of which rules deny something.
func deniedFiles(p *Profile, place string, found map[id]verdict, left *int) error {
	return filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if *left--; *left < 0 {
			return errManyNames
		}
		if err != nil {
			return ignoreGone(err)
		}
		if d.IsDir() && path == p.Workspace {
			return fs.SkipDir
		}
		v := verdict{!p.denies(path), p.decide(writeTool, path) != permission.Deny && p.decide(editTool, path) != permission.Deny}
		if !d.Type().IsRegular() || v.read && v.write {
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return ignoreGone(err)
		}
		found[id{st.Dev, st.Ino}] = both(found, id{st.Dev, st.Ino}, v)
		return nil
	})
}

// visible reports whether path is in something that is mounted from outside, also as a copy, and
// not in a folder of the session's own.
func (l *layout) visible(path string) bool {
	best, own := -1, true
	for _, m := range l.mounts {
		if (m.Op == wire.OpRead || m.Op == wire.OpWrite) && contains(m.Target, path) && len(m.Target) > best {
			best, own = len(m.Target), m.Own
		}
	}
	return !own
}

// covered reports whether path is hidden already.
func (l *layout) covered(path string) bool {
	return slices.ContainsFunc(l.mounts, func(m wire.Mount) bool { return m.Op == wire.OpHide && contains(m.Target, path) })
}

// closedFolders are the folders of the system in which programs keep settings, and services keep
// what only they may read.
var closedFolders = []string{"/etc", "/opt", "/usr/local/etc"}

// groupSecrets are what only root and the members of some groups may read of them. Whoever the
// worker is, it does not hand them on.
var groupSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/docker", "/etc/kubernetes",
	"/etc/rancher", "/etc/letsencrypt", "/etc/pki/tls/private", "/etc/wireguard", "/etc/openvpn", "/etc/NetworkManager", "/etc/krb5.keytab",
}

// closedTo returns the system's files that a command must not see: for root's worker, all that
// are not world-readable.
func closedTo(shown []Folder) []string {
	if os.Geteuid() != 0 {
		return groupSecrets
	}
	return closedBelow(closedFolders, shown)
}

// closedLook is the last look for what is closed in the system.
var closedLook struct {
	sync.Mutex
	when  time.Time
	took  time.Duration
	of    []Folder
	found []string
}

// closedFor is how long a look counts at least. So a command may see what an administrator has made
// there up to a second before its start, as it sees what comes after its start.
const closedFor = time.Second

// closedBelow returns the files and folders below dirs that not everybody may read, the highest of
// each. What a person has had shown is not among them. A look is repeated when twenty times as
// long has passed as it took, so that it costs little in a large /opt.
func closedBelow(dirs []string, shown []Folder) []string {
	closedLook.Lock()
	defer closedLook.Unlock()
	began := time.Now()
	if closedLook.found != nil && began.Sub(closedLook.when) < max(closedFor, 20*closedLook.took) && slices.Equal(closedLook.of, shown) {
		return closedLook.found
	}
	found := []string{}
	for _, dir := range dirs {
		found = append(found, closedIn(dir, shown)...)
	}
	closedLook.when, closedLook.took, closedLook.of, closedLook.found = time.Now(), time.Since(began), slices.Clone(shown), found
	return found
}

// closedIn is closedBelow for one folder, looked at now.
func closedIn(dir string, shown []Folder) (found []string) {
	var inherited []string // folders that are closed, in which a person has had something shown
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if d == nil || !d.IsDir() || os.IsNotExist(err) {
				return nil
			}
			found = append(found, path)
			return fs.SkipDir
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		if slices.ContainsFunc(shown, func(f Folder) bool { return contains(f.Path, path) }) {
			return skip(d)
		}
		if !slices.ContainsFunc(inherited, func(up string) bool { return contains(up, path) }) {
			info, err := d.Info()
			if err != nil || forAll(info) {
				return nil
			}
		}
		if d.IsDir() && slices.ContainsFunc(shown, func(f Folder) bool { return contains(path, f.Path) }) {
			inherited = append(inherited, path)
			return nil
		}
		found = append(found, path)
		return skip(d)
	})
	return found
}

// forAll reports whether everybody may read a file, or enter a folder.
func forAll(info fs.FileInfo) bool {
	if info.IsDir() {
		return info.Mode()&0o001 != 0
	}
	return info.Mode()&0o004 != 0
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// outermost returns the paths that are in none of the others.
func outermost(paths []string) []string {
	all := make(map[string]bool, len(paths))
	for _, path := range paths {
		all[path] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(path string) bool {
		for up := filepath.Dir(path); up != filepath.Dir(up); up = filepath.Dir(up) {
			if all[up] {
				return true
			}
		}
		return false
	})
}
