package agentdefs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/agentdefs/internal/watch"
	"github.com/agentworker/worker/internal/disk"
)

// Load reads the agent files of the workspace at root. What is wrong with a
// file is a diagnostic of the snapshot; an error means that root, or a folder
// of [Options.Dirs], cannot be read at all.
func Load(root string, opts *Options) (*Snapshot, error) {
	l, err := newLoader(context.Background(), root, opts)
	if err != nil {
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	return l.load(context.Background(), nil), nil
}

// unreadEvery is how often folders that are not read are looked for while files
// change.
const unreadEvery = 30 * time.Second

// loader makes snapshots, each from what has changed since the one before.
type loader struct {
	root    string // absolute
	opts    *Options
	builtin []served
	limiter *disk.Limiter
	watcher *watch.Watcher // nil means nothing is watched

	unread   []Unread  // folders that are there and not read
	unreadAt time.Time // when they were looked for

	scan     *scan.Scan // the last one
	files    *files     // of it
	were     *files     // of the one before; nil means there is none
	snapshot *Snapshot  // made of them
}

// newLoader checks that what must exist does.
func newLoader(ctx context.Context, root string, opts *Options) (*loader, error) {
	l := &loader{opts: opts.complete()}
	l.limiter = disk.NewLimiter(l.opts.disk.Timeout)
	d := l.disk(ctx)
	for _, dir := range append([]string{root}, l.opts.Dirs...) {
		if _, err := d.ReadDir(dir); err != nil {
			return nil, err
		}
	}
	var err error
	if l.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	l.builtin, err = builtins(l.opts)
	return l, err
}

func (l *loader) disk(ctx context.Context) *disk.Disk {
	return disk.New(ctx, l.limiter, &l.opts.disk)
}

// load reads what has changed since the last time and puts it all together.
// changed is [reader.changed]. The result is of no use if ctx has ended.
func (l *loader) load(ctx context.Context, changed func(real string) bool) *Snapshot {
	d := l.disk(ctx)
	var enter scan.EnterFunc
	if l.watcher != nil {
		l.watcher.Begin(d)
		enter = l.watcher.Enter
	}
	var known func(scan.Key, string) fs.FileInfo
	if before := l.files; before != nil && changed != nil {
		known = func(key scan.Key, real string) fs.FileInfo {
			if r := before.records[key]; r != nil && r.settled && r.real == real && !changed(real) {
				return r.info
			}
			return nil
		}
	}
	folders := l.opts.folders()
	l.scan = scan.Look(d, l.root, folders, enter, l.scan, known)
	if l.files != nil {
		l.scan.AddLastGood(maps.Keys(l.files.records))
	}
	r := &reader{opts: l.opts, disk: d, known: l.files, changed: changed}
	l.files, l.were = r.read(ctx, l.scan), l.files
	for _, of := range l.files.records {
		for _, ref := range of.references {
			l.scan.Follow(ref.real)
		}
	}
	m := newMerge(l.builtin, l.snapshot)
	for i, records := range l.files.ordered {
		of := &l.scan.Listings[i]
		m.begin(of.Tool)
		m.diagnostics = append(m.diagnostics, of.Diagnostics...)
		for _, at := range of.Lost {
			if !at.Known {
				m.seal(cmp.Or(at.Shown, "."))
			}
		}
		m.add(records)
	}
	if l.watcher != nil {
		m.diagnostics = append(m.diagnostics, l.watcher.Done(l.scan)...)
	}
	next := m.snapshot(l.scan.Dir)
	if now := time.Now(); l.unreadAt.IsZero() || now.Sub(l.unreadAt) > unreadEvery {
		l.unread, l.unreadAt = scan.FindUnread(d, l.root, folders, l.scan.Dir, l.countIn(d)), now
	}
	next.unread = l.unread
	if d, ok := scan.UnreadDiagnostic(next.unread); ok {
		next.diagnostics = append(next.diagnostics, d)
		diag.Sort(next.diagnostics)
	}
	return next
}
