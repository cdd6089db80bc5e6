package agentdefs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Options configures loading. The zero value is ready to use.
type Options struct {
	// Nesting leaves out the rule "task: deny" that otherwise ends every
	// agent's ruleset. Who runs agents then limits their depth.
	Nesting bool

	// Home is the folder that "~/" and "$HOME/" stand for in patterns; empty:
	// the user's.
	Home string

	// UserDir is the user's own folder of agent files, read with its subfolders
	// before the workspace's; empty or absent: none. It may come later.
	UserDir string

	// Dirs are further folders, read with their subfolders after the
	// workspace's; each must exist. One that vanishes from below a [Registry]
	// is a diagnostic until it is back.
	Dirs []string

	// From names the folders of other tools that are read too, see [Sources]:
	// after UserDir and before the workspace's, in this order. "all" is all.
	From []string

	// ToolsHome is the folder below which other tools keep the agents of the
	// user, as in .claude/agents; empty: they are not looked for.
	ToolsHome string

	// KnownModel reports whether a file may name this model or alias; nil: any.
	KnownModel func(name string) bool

	// Tools names the tools that there are, which the built-in agents tell of;
	// nil: not known, and nothing is said of them.
	Tools []string

	// PollEvery is how often a [Registry] looks for changes where the system
	// cannot tell it of them; 0: 2 s.
	PollEvery time.Duration

	// RescanEvery is how often a [Registry] reads everything again, for what
	// no event tells of: a file that is written to through a mapping of memory
	// or a hard link, a file system mounted over a folder; 0: 30 s. It takes at
	// most a hundredth of the time, and comes less often where it would take more.
	RescanEvery time.Duration

	// Logger is told of each file that is not served or stale, once for each
	// change of the file; nil: discard.
	Logger *slog.Logger

	platform platform
}

// complete returns a copy of opts with its defaults filled in.
func (opts *Options) complete() *Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, patterns with "~/" are refused
	}
	if o.PollEvery <= 0 {
		o.PollEvery = defaultPoll
	}
	if o.RescanEvery <= 0 {
		o.RescanEvery = defaultRescan
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.platform = o.platform.complete()
	return &o
}

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

// loader makes snapshots, each from what has changed since the one before.
type loader struct {
	root    string // absolute
	opts    *Options
	builtin []served
	guard   *guard
	watch   *watch // nil: each load is for itself

	unread   []Unread  // folders that are there and not read
	unreadAt time.Time // when they were looked for

	scan     *scan     // the last one
	files    *files    // of it
	were     *files    // of the one before; nil: there is none
	snapshot *Snapshot // made of them
}

// newLoader checks that what must exist does.
func newLoader(ctx context.Context, root string, opts *Options) (*loader, error) {
	l := &loader{opts: opts.complete()}
	l.guard = newGuard(l.opts.platform.callTime)
	disk := l.disk(ctx)
	for _, dir := range append([]string{root}, l.opts.Dirs...) {
		if _, err := disk.readDir(dir); err != nil {
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

func (l *loader) disk(ctx context.Context) *disk { return &disk{ctx, l.guard, &l.opts.platform} }

// load reads what has changed since the last time and puts it all together.
// changed is [reader.changed]. The result is of no use if ctx has ended.
func (l *loader) load(ctx context.Context, changed func(real string) bool) *Snapshot {
	disk := l.disk(ctx)
	var enter enterFunc
	if l.watch != nil {
		l.watch.begin(disk)
		enter = l.watch.enter
	}
	var known func(fileKey, string) fs.FileInfo
	if before := l.files; before != nil && changed != nil {
		known = func(key fileKey, real string) fs.FileInfo {
			if r := before.records[key]; r != nil && r.settled && r.real == real && !changed(real) {
				return r.info
			}
			return nil
		}
	}
	l.scan = look(disk, l.root, l.opts, enter, l.scan, known)
	l.scan.before = nil
	if l.files != nil {
		l.scan.keep(l.files)
	}
	r := &reader{opts: l.opts, disk: disk, known: l.files, changed: changed}
	l.files, l.were = r.read(ctx, l.scan), l.files
	m := newMerge(l.builtin, l.snapshot)
	for i, records := range l.files.ordered {
		of := &l.scan.listings[i]
		m.diagnostics = append(m.diagnostics, of.diagnostics...)
		for _, at := range of.lost {
			if !at.known {
				m.seal(cmp.Or(at.shown, "."))
			}
		}
		m.add(records)
	}
	if l.watch != nil {
		m.diagnostics = append(m.diagnostics, l.watch.done(l.scan)...)
	}
	next := m.snapshot(l.scan.dir)
	if now := time.Now(); l.unreadAt.IsZero() || now.Sub(l.unreadAt) > lookForUnread {
		l.unread, l.unreadAt = unreadFolders(disk, l.root, l.opts, l.scan.dir), now
	}
	next.unread = l.unread
	if d, ok := unreadDiagnostic(next.unread); ok {
		next.diagnostics = append(next.diagnostics, d)
		sortDiagnostics(next.diagnostics)
	}
	return next
}
