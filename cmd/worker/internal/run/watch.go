package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// watcher shows a stream while its session runs.
type watcher struct {
	done     chan error
	alive    chan struct{} // has a value after each delivery that was shown
	cancel   context.CancelFunc
	p        commands
	progress *progress.Progress // p.Asking is held around it
	ticking  sync.WaitGroup
}

// redraw is how often the live lines are drawn.
const redraw = 200 * time.Millisecond

// settle is the longest time between two of the last events.
const settle = 10 * time.Second

// watch follows the stream of a session that is about to run: readable
// progress on stderr and, with --events, each event on stdout.
func (p commands) watch(ctx context.Context, bus *eventbus.Bus, path event.Path, opts runOptions) *watcher {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watcher{done: make(chan error, 1), alive: make(chan struct{}, 1), cancel: cancel, p: p, progress: progress.New(p.Stderr, p.ErrTerm, p.Live)}
	w.progress.Answered = opts.yes || p.asks()
	ticking, stop := context.WithCancel(ctx)
	w.ticking.Go(func() { p.tick(ticking, w.progress) })
	go func() {
		err := app.Follow(ctx, bus, path, &eventbus.FollowOptions{Live: true}, func(d eventbus.Delivery) error {
			p.Asking.Lock()
			now := time.Now()
			w.progress.Show(d, now)
			w.progress.Tick(now)
			p.Asking.Unlock()
			select {
			case w.alive <- struct{}{}:
			default:
			}
			if opts.events {
				return app.PrintEvent(p.JSONOut(), d)
			}
			return nil
		})
		stop()
		w.ticking.Wait()
		if p.Live != nil {
			p.Live.Show()
		}
		w.done <- err
	}()
	return w
}

// tick lets time show until ctx ends.
func (p commands) tick(ctx context.Context, progress *progress.Progress) {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			p.Asking.Lock()
			progress.Tick(now)
			p.Asking.Unlock()
		}
	}
}

// wait returns when the session's last event was shown, or when none has come for a while:
// a blocked output must not hold up the result.
func (w *watcher) wait() error {
	defer w.cancel()
	timeout := time.NewTimer(settle)
	defer timeout.Stop()
	for {
		select {
		case err := <-w.done:
			return err
		case <-w.alive:
			timeout.Reset(settle)
		case <-timeout.C:
			return fmt.Errorf("not all events were shown: for %s no event came, or the output took none", settle)
		}
	}
}

// refused returns the calls that were refused, as far as they were shown. Call
// it after wait.
func (w *watcher) refused() []progress.Refusal {
	w.p.Asking.Lock()
	defer w.p.Asking.Unlock()
	return w.progress.Refusals()
}
