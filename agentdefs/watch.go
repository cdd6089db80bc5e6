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
	"sync/atomic"
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

// platform is what the system offers for watching and reading; tests put in
// another one.
type platform struct {
	newWatcher func() (*fsnotify.Watcher, error)
	add        func(w *fsnotify.Watcher, dir string) error
	network    func(dir string) string // the kind of a network file system; empty: it is local

	stat     func(path string) (fs.FileInfo, error)
	lstat    func(path string) (fs.FileInfo, error)
	readlink func(path string) (string, error)
	readDir  func(path string) ([]fs.DirEntry, error)
	readFile func(path string) (content, error)
	callTime time.Duration // that each of the above may take, and add
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
	if p.stat == nil {
		p.stat = os.Stat
	}
	if p.lstat == nil {
		p.lstat = os.Lstat
	}
	if p.readlink == nil {
		p.readlink = os.Readlink
	}
	if p.readDir == nil {
		p.readDir = os.ReadDir
	}
	if p.readFile == nil {
		p.readFile = readRegular
	}
	if p.callTime == 0 {
		p.callTime = defaultCallTime
	}
	return p
}

// watch keeps the folders of the newest scan watched. It belongs to one
// goroutine. The system watches a folder itself, not its path: only real paths
// are added, each once, and one where another folder is now is added again.
type watch struct {
	platform platform
	disk     *disk // of the scan
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
	return &watch{platform: opts.platform, every: opts.PollEvery, dirs: map[string]watched{}, errs: make(chan error, 1)}
}

// begin prepares for a scan of disk.
func (w *watch) begin(disk *disk) {
	w.blind, w.disk = nil, disk
	if w.notify != nil {
		return
	}
	notify, err := w.platform.newWatcher()
	if err != nil {
		w.blind = &blindness{"", "the system gives no watcher: " + cause(err), "raise fs.inotify.max_user_instances, or end programs that watch files"}
		return
	}
	w.notify, w.drained = notify, make(chan struct{})
	go w.drain(notify, w.drained)
}

// drain takes in the watcher's errors until it is closed. They can't wait for
// the end of a scan: the watcher may hold its lock while it reports one, and
// the scan needs that lock to add a folder.
func (w *watch) drain(notify *fsnotify.Watcher, drained chan struct{}) {
	defer close(drained)
	for err := range notify.Errors {
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
		network, err := w.disk.network(dir)
		if err == nil {
			err = w.add(dir)
		}
		if err != nil {
			if !above && !passing(err) && w.blind == nil {
				w.blind = &blindness{dir, "it cannot be watched: " + cause(err), advice(err, "raise fs.inotify.max_user_watches, for example with sysctl")}
			}
			return false
		}
		now = watched{info: info, network: network}
		w.dirs[dir] = now
	}
	if now.network != "" && !above && w.blind == nil {
		w.blind = &blindness{dir, "it is on a network file system (" + now.network + "), which may not tell of changes made elsewhere", "keep agent files on a local disk, or wait for the next look"}
	}
	return told && tellsAll && now.network == ""
}

// add watches dir. A watcher that is held up in doing so holds its lock, and
// can't even be closed: it is left behind, and closed once it returns.
func (w *watch) add(dir string) error {
	const running, returned, left = 0, 1, 2
	var state atomic.Int32
	notify := w.notify
	_, err := guarded(w.disk, "watch", dir, func() (struct{}, error) {
		err := w.platform.add(notify, dir)
		if !state.CompareAndSwap(running, returned) {
			_ = notify.Close() // it holds nothing that could be lost
		}
		return struct{}{}, err
	})
	held, ok := errors.AsType[*heldUpError](err)
	if (ok && held.given || w.disk.ctx.Err() != nil) && state.CompareAndSwap(running, left) {
		w.notify, w.dirs = nil, map[string]watched{}
		w.blind = &blindness{dir, "it cannot be watched: " + cause(err), advice(err, "")}
	}
	return err
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
		info, err := t.disk.lstat(e.Name)
		if _, held := errors.AsType[*heldUpError](err); held {
			return ofPlace
		}
		if err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
			return ofPlace
		}
	}
	return irrelevant
}
