package agentdefs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/agentdefs/internal/watch"
)

// Registry holds the newest snapshot of a workspace, and makes a new one when
// files change. It is safe for concurrent use.
type Registry struct {
	head   atomic.Pointer[node] // the newest change
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing runs any more
}

// Open loads the agent files of the workspace at root, as [Load] does, and
// watches them until Close. ctx only bounds the loading.
func Open(ctx context.Context, root string, opts *Options) (*Registry, error) {
	l, err := newLoader(ctx, root, opts)
	if err != nil {
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	l.watcher = watch.New(l.opts.watch, l.opts.PollEvery)
	first := l.load(ctx, nil)
	if err := ctx.Err(); err != nil {
		l.watcher.Close()
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	l.log(first, slog.LevelInfo) // the caller has the diagnostics, too
	r := &Registry{done: make(chan struct{})}
	r.publish(Change{Snapshot: first})
	l.snapshot = first
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go r.run(running, l)
	return r, nil
}

// Snapshot returns the newest snapshot; never nil. It stays as it is.
func (r *Registry) Snapshot() *Snapshot { return r.head.Load().change.Snapshot }

// Close stops watching. The last snapshot can still be read. It may be called
// more than once.
func (r *Registry) Close() {
	r.cancel()
	<-r.done
}

// publish puts c in force and tells of it.
func (r *Registry) publish(c Change) {
	next := newNode(c)
	old := r.head.Load()
	r.head.Store(next)
	if old != nil {
		old.next = next
		close(old.ready)
	}
}

// rescanShare is the part of the time, one of so many, that reading everything
// again may take.
const rescanShare = 100

// run reads files again as events tell, until ctx ends. It owns l.
func (r *Registry) run(ctx context.Context, l *loader) {
	defer close(r.done)
	defer l.watcher.Close()
	l.scan.SetDisk(l.disk(ctx)) // the first one's only bounds the loading
	var pending watch.Debounce
	var published time.Time // when the newest snapshot was made; the first counts as long ago
	timer := time.NewTimer(0)
	defer timer.Stop()
	looked := time.Now()
	rescan := looked.Add(l.opts.RescanEvery)
	warned := false
	for {
		polling := l.watcher.Polling()
		if warned != (polling != nil) {
			if warned = !warned; warned {
				l.opts.Logger.Warn("agent files are looked at instead of being watched", "every", l.opts.PollEvery, "folder", polling.Dir, "why", polling.Why, "fix", polling.Fix)
			}
		}
		due := watch.Earlier(pending.Due(published), l.files.again)
		if polling != nil {
			due = watch.Earlier(due, looked.Add(l.opts.PollEvery))
		}
		due = watch.Earlier(due, rescan)
		timer.Stop()
		if !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return
		case e := <-l.watcher.Events():
			if what := l.scan.Effect(e.Name, e.Has(fsnotify.Create)); what != scan.NoEffect {
				pending.Add(e.Name, what, time.Now())
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				l.watcher.Forget(e.Name)
			}
		case err := <-l.watcher.Errors():
			l.opts.Logger.Warn("watching agent files", "err", err)
			pending.AddAll(time.Now())
		case <-l.limiter.Back(): // the file system answers again
			rescan = watch.Earlier(rescan, looked.Add(l.opts.PollEvery))
		case <-timer.C:
			began := time.Now()
			full := !began.Before(rescan)
			if full {
				pending.AddAll(began)
			}
			next := l.load(ctx, pending.Changed)
			if ctx.Err() != nil {
				return
			}
			pending, looked = watch.Debounce{}, time.Now()
			if full {
				rescan = looked.Add(max(l.opts.RescanEvery, rescanShare*looked.Sub(began)))
			}
			l.log(next, slog.LevelError)
			if c := l.snapshot.changeTo(next); !l.snapshot.same(next, &c) {
				next.Version = l.snapshot.Version + 1
				r.publish(c)
				l.snapshot, published = next, looked
			}
		}
	}
}

// Changes yields the snapshot now in force, with all its agents as Added, and
// then each later one, in order and once. A slow reader misses none. It ends
// when ctx does or, after the last one, when the registry is closed. Any number
// of readers may range at once; leaving the loop leaves nothing behind.
func (r *Registry) Changes(ctx context.Context) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		at := r.head.Load()
		for c := (*Snapshot)(nil).changeTo(at.change.Snapshot); ctx.Err() == nil && yield(c); c = at.change {
			select {
			case <-at.ready:
			case <-ctx.Done():
				return
			case <-r.done: // nothing is added any more
				select {
				case <-at.ready:
				default:
					return
				}
			}
			at = at.next
		}
	}
}

// log logs one line for each file that is not served, or stale. It does so at the start, and when
// the file or its faults change. Another line says that the file is served again.
func (l *loader) log(s *Snapshot, level slog.Level) {
	broken, before := s.broken(), map[string][]Diagnostic{}
	if l.snapshot != nil {
		before = l.snapshot.broken()
	}
	changed := map[string]bool{}
	if l.were != nil {
		for key, r := range l.files.records {
			was := l.were.records[key]
			changed[key.Shown] = was != nil && was.hash != r.hash
		}
	}
	say := func(finding string) {
		l.opts.Logger.Log(context.Background(), level, "agent file", "finding", finding)
	}
	for _, file := range slices.Sorted(maps.Keys(broken)) {
		if slices.Equal(broken[file], before[file]) && !changed[file] {
			continue
		}
		finding, more := broken[file][0].String(), 0
		for _, d := range broken[file][1:] {
			if d.Code == diag.AgentStale {
				finding += "; " + d.Message
			} else {
				more++
			}
		}
		if more > 0 {
			finding += fmt.Sprintf(" (and %d more: 'worker agents lint')", more)
		}
		say(finding)
	}
	for _, file := range slices.Sorted(maps.Keys(before)) {
		if s.serves(file) && broken[file] == nil {
			say(file + ": it is served again")
		}
	}
}

// broken returns what is wrong with the files that are not served, or stale, the gravest first.
func (s *Snapshot) broken() map[string][]Diagnostic {
	all := map[string][]Diagnostic{}
	for _, d := range s.diagnostics {
		if d.Severity == Error || d.Code == diag.AgentStale {
			all[d.File] = append(all[d.File], d)
		}
	}
	for _, found := range all {
		slices.SortStableFunc(found, func(a, b Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
	}
	return all
}

// serves reports whether an agent of a file is served.
func (s *Snapshot) serves(file string) bool {
	return slices.ContainsFunc(s.agents, func(d *Definition) bool { return d.File == file })
}
