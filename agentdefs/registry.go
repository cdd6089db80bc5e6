package agentdefs

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Registry holds the newest snapshot of a workspace, and makes a new one when
// files change. It is safe for concurrent use.
type Registry struct {
	head   atomic.Pointer[node] // the newest change
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing runs any more
}

// Open loads the agent files of the workspace at root, as [Load] does, and
// watches them until Close. ctx is for the loading alone.
func Open(ctx context.Context, root string, opts *Options) (*Registry, error) {
	l, err := newLoader(ctx, root, opts)
	if err != nil {
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	l.watch = newWatch(l.opts)
	first := l.load(ctx, nil)
	if err := ctx.Err(); err != nil {
		l.watch.close()
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	l.log(first, slog.LevelInfo) // whoever opens it has the diagnostics, too
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

const (
	defaultRescan = 30 * time.Second

	// rescanShare is the part of the time, one of so many, that reading
	// everything again may take.
	rescanShare = 100
)

// run reads files again as events tell, until ctx ends. It owns l.
func (r *Registry) run(ctx context.Context, l *loader) {
	defer close(r.done)
	defer l.watch.close()
	l.scan.disk = l.disk(ctx) // the first one's was for the loading alone
	var pending burst
	var published time.Time // when the newest snapshot was made; the first counts as long ago
	timer := time.NewTimer(0)
	defer timer.Stop()
	looked := time.Now()
	rescan := looked.Add(l.opts.RescanEvery)
	warned := false
	for {
		if warned != (l.watch.blind != nil) {
			if warned = !warned; warned {
				l.opts.Logger.Warn("agent files are looked at instead of being watched", "every", l.opts.PollEvery, "folder", l.watch.blind.dir, "why", l.watch.blind.why, "fix", l.watch.blind.fix)
			}
		}
		due := earlier(pending.due(published), l.files.again)
		if l.watch.blind != nil {
			due = earlier(due, looked.Add(l.opts.PollEvery))
		}
		due = earlier(due, rescan)
		timer.Stop()
		if !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		var events <-chan fsnotify.Event
		if l.watch.notify != nil {
			events = l.watch.notify.Events
		}
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if what := l.scan.judge(e); what != irrelevant {
				pending.add(e.Name, what, time.Now())
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				l.watch.forget(e.Name)
			}
		case err := <-l.watch.errs:
			l.opts.Logger.Warn("watching agent files", "err", err)
			pending.lost(time.Now())
		case <-l.guard.back: // the file system answers again
			rescan = earlier(rescan, looked.Add(l.opts.PollEvery))
		case <-timer.C:
			began := time.Now()
			full := !began.Before(rescan)
			if full {
				pending.lost(began)
			}
			next := l.load(ctx, pending.changed)
			if ctx.Err() != nil {
				return
			}
			pending, looked = burst{}, time.Now()
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
