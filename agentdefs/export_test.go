package agentdefs

import (
	"context"

	"github.com/fsnotify/fsnotify"
)

// Platform is what a test puts in the place of the system's watching; what is
// nil stays.
type Platform struct {
	NewWatcher func() (*fsnotify.Watcher, error)
	Add        func(w *fsnotify.Watcher, dir string) error
	Network    func(dir string) string
}

// On sets the platform of opts.
func (opts *Options) On(p Platform) *Options {
	opts.platform = platform{newWatcher: p.NewWatcher, add: p.Add, network: p.Network}
	return opts
}

// Scanner loads again and again without watching.
type Scanner struct{ l *loader }

// NewScanner returns a Scanner of the workspace at root.
func NewScanner(root string, opts *Options) (*Scanner, error) {
	l, err := newLoader(root, opts)
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
