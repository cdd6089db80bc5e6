package agentdefs

import (
	"context"
	"io/fs"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs/internal/watch"
	"github.com/agentworker/worker/internal/disk"
)

// Platform is what a test puts in the place of the system's watching; what is
// nil stays.
type Platform struct {
	NewWatcher func() (*fsnotify.Watcher, error)
	Add        func(w *fsnotify.Watcher, dir string) error
	Network    func(dir string) string

	Stat       func(path string) (fs.FileInfo, error)
	Lstat      func(path string) (fs.FileInfo, error)
	ReadDir    func(path string) ([]fs.DirEntry, error)
	BeforeRead func(path string) error // is called before a file is read; its error is the reading's
	CallTime   time.Duration           // that a call may take
}

// On sets the platform of opts.
func (opts *Options) On(p Platform) *Options {
	opts.watch = watch.System{NewWatcher: p.NewWatcher, Add: p.Add}
	opts.disk = disk.System{Network: p.Network, Stat: p.Stat, Lstat: p.Lstat, ReadDir: p.ReadDir, Timeout: p.CallTime}
	if p.BeforeRead != nil {
		opts.disk.ReadFile = func(path string) (disk.Content, error) {
			if err := p.BeforeRead(path); err != nil {
				return disk.Content{}, err
			}
			return disk.ReadRegular(path)
		}
	}
	return opts
}

// Scanner loads again and again without watching.
type Scanner struct{ l *loader }

// NewScanner returns a Scanner of the workspace at root.
func NewScanner(root string, opts *Options) (*Scanner, error) {
	l, err := newLoader(context.Background(), root, opts)
	return &Scanner{l}, err
}

// Load returns a snapshot of what is there, and how many files it had to read.
// changed reports whether the snapshot differs from the one before.
func (s *Scanner) Load() (snapshot *Snapshot, read int, changed bool) {
	next := s.l.load(context.Background(), nil)
	changed = true
	if s.l.snapshot != nil {
		c := s.l.snapshot.changeTo(next)
		changed = !s.l.snapshot.same(next, &c)
	}
	s.l.snapshot = next
	return next, s.l.files.read, changed
}

// Rescan reads every file again, and reports whether anything has changed.
func (s *Scanner) Rescan() (changed bool) {
	next := s.l.load(context.Background(), func(string) bool { return true })
	c := s.l.snapshot.changeTo(next)
	return !s.l.snapshot.same(next, &c)
}
