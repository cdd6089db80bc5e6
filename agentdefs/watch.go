package agentdefs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	defaultPoll = 2 * time.Second

	// eventBuffer holds events while files are read; the system's own queue
	// comes before it.
	eventBuffer = 1024
)

// platform is what the system offers for watching; tests put in another one.
type platform struct {
	newWatcher func() (*fsnotify.Watcher, error)
	add        func(w *fsnotify.Watcher, dir string) error
	network    func(dir string) string // the kind of a network file system; empty: it is local
}

func (p platform) complete() platform {
	if p.newWatcher == nil {
		p.newWatcher = func() (*fsnotify.Watcher, error) { return fsnotify.NewBufferedWatcher(eventBuffer) }
	}
	if p.add == nil {
		p.add = (*fsnotify.Watcher).Add
	}
	if p.network == nil {
		p.network = networkFS
	}
	return p
}

// watch keeps the folders of the newest scan watched. It belongs to one
// goroutine. The system watches a folder itself, not its path: only real paths
// are added, each once, and one where another folder is now is added again.
type watch struct {
	platform platform
	every    time.Duration
	notify   *fsnotify.Watcher // nil: the system gives none
	errs     chan error        // what notify reports; each means that events may be lost, so one is kept
	drained  chan struct{}     // closed when notify reports no more
	dirs     map[string]watched
	blind    *blindness // why changes must be looked for; nil: they are told of
}

// watched is a folder that is watched.
type watched struct {
	info    fs.FileInfo
	network string
}

// blindness says why changes below a folder are not told of.
type blindness struct{ dir, why, fix string }

func newWatch(opts *Options) *watch {
	w := &watch{platform: opts.platform, every: opts.PollEvery, dirs: map[string]watched{}, errs: make(chan error, 1)}
	w.begin()
	return w
}

// begin prepares for a scan.
func (w *watch) begin() {
	w.blind = nil
	if w.notify != nil {
		return
	}
	notify, err := w.platform.newWatcher()
	if err != nil {
		w.blind = &blindness{"", "the system gives no watcher: " + cause(err), "raise fs.inotify.max_user_instances, or end programs that watch files"}
		return
	}
	w.notify, w.drained = notify, make(chan struct{})
	go w.drain()
}

// drain takes in the watcher's errors until it is closed. They can't wait for
// the end of a scan: the watcher may hold its lock while it reports one, and
// the scan needs that lock to add a folder.
func (w *watch) drain() {
	defer close(w.drained)
	for err := range w.notify.Errors {
		select {
		case w.errs <- err:
		default:
		}
	}
}

// tellsAll says that the system tells of each change in a folder. Others open
// new files one by one and may miss what is written to them before that.
const tellsAll = runtime.GOOS == "linux"

// enter watches dir, if it is not yet.
func (w *watch) enter(dir string, info fs.FileInfo, above bool) (told bool) {
	if w.notify == nil {
		return false
	}
	now, told := w.dirs[dir]
	told = told && os.SameFile(now.info, info)
	if !told {
		w.forget(dir)
		for other, at := range w.dirs { // renamed to dir, as the watcher will notice later
			if os.SameFile(at.info, info) {
				w.forget(other)
			}
		}
		if err := w.platform.add(w.notify, dir); err != nil {
			if !above && !passing(err) && w.blind == nil {
				w.blind = &blindness{dir, "it cannot be watched: " + cause(err), "raise fs.inotify.max_user_watches, for example with sysctl"}
			}
			return false
		}
		now = watched{info: info, network: w.platform.network(dir)}
		w.dirs[dir] = now
	}
	if now.network != "" && !above && w.blind == nil {
		w.blind = &blindness{dir, "it is on a network file system (" + now.network + "), which may not tell of changes made elsewhere", "keep agent files on a local disk, or wait for the next look"}
	}
	return told && tellsAll && now.network == ""
}

// passing reports whether a folder that could not be watched is no reason to
// look for changes: it is gone, or it cannot be read, and the folder above tells
// if that changes.
func passing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// forget ends the watching of what was at dir when it was added.
func (w *watch) forget(dir string) {
	if _, ok := w.dirs[dir]; ok {
		_ = w.notify.Remove(dir) // an error means that the watcher has noticed by itself
		delete(w.dirs, dir)
	}
}

// done ends the watching of what s did not come by, and returns a diagnostic if
// not all it did come by can be watched.
func (w *watch) done(s *scan) []Diagnostic {
	for dir := range w.dirs {
		if s.dirs[dir] == nil {
			w.forget(dir)
		}
	}
	if w.blind == nil {
		return nil
	}
	shown := cmp.Or(s.dir, ".")
	if w.blind.dir != "" {
		shown = s.shownDir(w.blind.dir)
	}
	return []Diagnostic{finding(shown, codeWatchPolling, w.blind.fix,
		fmt.Sprintf("the folder is looked at every %v instead of being watched: %s", w.every, w.blind.why))}
}

func (w *watch) close() {
	if w.notify != nil {
		_ = w.notify.Close() // it holds nothing that could be lost
		<-w.drained
	}
}

// shownDir is a real path for people: relative to the workspace if it is in it.
func (s *scan) shownDir(dir string) string {
	if s.root != "" {
		if rel, err := filepath.Rel(s.root, dir); err == nil && filepath.IsLocal(rel) {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}

// relevance says what an event means for what a scan saw.
type relevance int

const (
	irrelevant relevance = iota
	ofFile               // an agent file may have changed, nothing else
	ofPlace              // a folder or symlink may lead elsewhere
)

// judge reports what e means. It costs no look at the disk unless something
// new has appeared in a folder whose subfolders are read.
func (t *trail) judge(e fsnotify.Event) relevance {
	dir, name := filepath.Split(e.Name)
	seen := t.dirs[filepath.Clean(dir)]
	if seen == nil {
		return irrelevant
	}
	isFile := slices.Contains(agentSuffixes, filepath.Ext(name))
	switch {
	case seen.names[name]:
		if isFile {
			return ofFile
		}
		return ofPlace
	case !seen.listed || strings.HasPrefix(name, "."):
		return irrelevant
	case isFile:
		return ofFile
	case !seen.nested:
		return irrelevant
	case t.dirs[e.Name] != nil:
		return ofPlace
	case e.Has(fsnotify.Create):
		info, err := os.Lstat(e.Name)
		if err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
			return ofPlace
		}
	}
	return irrelevant
}
