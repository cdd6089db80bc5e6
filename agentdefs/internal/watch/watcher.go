package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
)

// eventBuffer is how many events wait while files are read; the system's own
// queue comes before it.
const eventBuffer = 1024

// System is what the operating system offers for watching; tests replace some of
// it.
type System struct {
	NewWatcher func() (*fsnotify.Watcher, error)
	Add        func(w *fsnotify.Watcher, dir string) error
}

// Complete returns s with the functions of the operating system where it has
// none.
func (s System) Complete() System {
	if s.NewWatcher == nil {
		s.NewWatcher = func() (*fsnotify.Watcher, error) { return fsnotify.NewBufferedWatcher(eventBuffer) }
	}
	if s.Add == nil {
		s.Add = (*fsnotify.Watcher).Add
	}
	return s
}

// Watcher keeps the folders of the newest scan watched. It belongs to one
// goroutine. The system watches a folder itself, not its path: only real paths
// are added, each once, and one where another folder is now is added again.
type Watcher struct {
	system  System
	disk    *disk.Disk // of the scan
	every   time.Duration
	notify  *fsnotify.Watcher // nil means the system gives none
	errs    chan error        // what notify reports; each means that events may be lost, so one is enough
	drained chan struct{}     // closed when notify reports no more
	dirs    map[string]folder
	poll    *Polling
}

// folder is one that is watched.
type folder struct {
	info    fs.FileInfo
	network string
}

// Polling says why folders are polled.
type Polling struct {
	Dir string // the first such folder, a real path; empty means all of them
	Why string
	Fix string // what to do about it
}

// New returns a Watcher that asks for polls at that interval where the system
// cannot watch.
func New(system System, every time.Duration) *Watcher {
	return &Watcher{system: system, every: every, dirs: map[string]folder{}, errs: make(chan error, 1)}
}

// Polling returns why changes must be looked for; nil means all are reported.
func (w *Watcher) Polling() *Polling { return w.poll }

// Errors receives the errors of the system's watcher.
func (w *Watcher) Errors() <-chan error { return w.errs }

// Events receives what changes in the folders; nil means the system gives no watcher.
func (w *Watcher) Events() <-chan fsnotify.Event {
	if w.notify == nil {
		return nil
	}
	return w.notify.Events
}

// Begin prepares for a scan of d.
func (w *Watcher) Begin(d *disk.Disk) {
	w.poll, w.disk = nil, d
	if w.notify != nil {
		return
	}
	notify, err := w.system.NewWatcher()
	if err != nil {
		w.poll = &Polling{"", "the system gives no watcher: " + disk.Cause(err), "raise fs.inotify.max_user_instances, or end programs that watch files"}
		return
	}
	w.notify, w.drained = notify, make(chan struct{})
	go w.drain(notify, w.drained)
}

// drain takes in the watcher's errors until it is closed. They cannot wait for
// the end of a scan: the watcher may hold its lock while it reports one, and
// the scan needs that lock to add a folder.
func (w *Watcher) drain(notify *fsnotify.Watcher, drained chan struct{}) {
	defer close(drained)
	for err := range notify.Errors {
		select {
		case w.errs <- err:
		default:
		}
	}
}

// reportsAll says that the system reports each change in a folder. Others open
// new files one by one and may miss what is written to them before that.
const reportsAll = runtime.GOOS == "linux"

// Enter is a [scan.EnterFunc]. It watches dir, if it is not watched yet.
func (w *Watcher) Enter(dir string, info fs.FileInfo, above bool) (reported bool) {
	if w.notify == nil {
		return false
	}
	now, reported := w.dirs[dir]
	reported = reported && os.SameFile(now.info, info)
	if !reported {
		w.Forget(dir)
		for other, at := range w.dirs { // renamed to dir, as the watcher will notice later
			if os.SameFile(at.info, info) {
				w.Forget(other)
			}
		}
		network, err := w.disk.Network(dir)
		if err == nil {
			err = w.add(dir)
		}
		if err != nil {
			if !above && !seenFromAbove(err) && w.poll == nil {
				w.poll = &Polling{dir, "it cannot be watched: " + disk.Cause(err), disk.Advice(err, "raise fs.inotify.max_user_watches, for example with sysctl")}
			}
			return false
		}
		now = folder{info: info, network: network}
		w.dirs[dir] = now
	}
	if now.network != "" && !above && w.poll == nil {
		w.poll = &Polling{dir, "it is on a network file system (" + now.network + "), which may not tell of changes made elsewhere", "keep agent files on a local disk, or wait for the next look"}
	}
	return reported && reportsAll && now.network == ""
}

// add watches dir. A watcher whose call does not return holds its lock and cannot
// even be closed: it is left behind, and closed once the call returns.
func (w *Watcher) add(dir string) error {
	const running, returned, left = 0, 1, 2
	var state atomic.Int32
	notify := w.notify
	_, err := disk.Within(w.disk, "watch", dir, func() (struct{}, error) {
		err := w.system.Add(notify, dir)
		if !state.CompareAndSwap(running, returned) {
			_ = notify.Close() // it holds nothing that could be lost
		}
		return struct{}{}, err
	})
	timeout, ok := errors.AsType[*disk.TimeoutError](err)
	if (ok && timeout.Made || w.disk.Err() != nil) && state.CompareAndSwap(running, left) {
		w.notify, w.dirs = nil, map[string]folder{}
		w.poll = &Polling{dir, "it cannot be watched: " + disk.Cause(err), disk.Advice(err, "")}
	}
	return err
}

// seenFromAbove reports whether a folder that could not be watched need not be
// polled. That is so if it is missing or unreadable: the folder above reports a
// change.
func seenFromAbove(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// Forget ends the watching of what was at dir when it was added.
func (w *Watcher) Forget(dir string) {
	if _, ok := w.dirs[dir]; ok {
		_ = w.notify.Remove(dir) // an error means that the watcher has noticed by itself
		delete(w.dirs, dir)
	}
}

// Done ends the watching of folders that s did not visit. It returns a diagnostic
// if not all that it did visit can be watched.
func (w *Watcher) Done(s *scan.Scan) []diag.Diagnostic {
	for dir := range w.dirs {
		if !s.Visited(dir) {
			w.Forget(dir)
		}
	}
	if w.poll == nil {
		return nil
	}
	shown := cmp.Or(s.Dir, ".")
	if w.poll.Dir != "" {
		shown = s.ShownDir(w.poll.Dir)
	}
	return []diag.Diagnostic{diag.OfFile(shown, diag.WatchPolling, w.poll.Fix,
		fmt.Sprintf("the folder is looked at every %v instead of being watched: %s", w.every, w.poll.Why))}
}

// Close ends the watching.
func (w *Watcher) Close() {
	if w.notify != nil {
		_ = w.notify.Close() // it holds nothing that could be lost
		<-w.drained
	}
}
