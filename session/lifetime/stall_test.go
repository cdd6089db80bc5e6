package lifetime_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/session/lifetime"
)

// TestWatch: time without an event is told, and then ends the turn; an event sets
// it back, and time in which the clock stands still does not count.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		ctx, cancel := context.WithCancelCause(t.Context())
		w := lifetime.NewWatch(time.Minute, cancel, func(time.Duration) { told = append(told, time.Since(start)) }, func() {})
		wait(50 * time.Second)
		w.Heard()
		wait(30 * time.Second)
		w.Pause()
		w.Pause()
		wait(time.Hour)
		w.Resume()
		wait(time.Hour)
		w.Resume()
		wait(31 * time.Second) // and 30 s before
		synctest.Wait()
		at := 50*time.Second + time.Minute + 2*time.Hour
		if len(told) != 1 || told[0] != at {
			t.Errorf("told at %v, want at %v", told, at)
		}
		w.Heard()
		wait(119 * time.Second)
		synctest.Wait()
		if len(told) != 2 || ctx.Err() != nil {
			t.Errorf("told %v, ended: %v", told, context.Cause(ctx))
		}
		<-ctx.Done()
		if err, ok := context.Cause(ctx).(*lifetime.StalledError); !ok || err.Idle != 2*time.Minute || time.Since(start) != at+time.Second+2*time.Minute {
			t.Errorf("ended after %v: %v", time.Since(start), context.Cause(ctx))
		}
		w.Stop()
	})
}

// TestWatchTells: a watch that ends nothing tells once of each time in which nothing happens.
func TestWatchTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		w := lifetime.NewWatch(time.Minute, nil, func(time.Duration) { told = append(told, time.Since(start)) }, func() {})
		wait(10*time.Minute + 30*time.Second)
		w.Heard()
		wait(10 * time.Minute)
		synctest.Wait()
		if want := []time.Duration{time.Minute, 11*time.Minute + 30*time.Second}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want at %v", told, want)
		}
		w.Stop()
	})
}

// TestWatched: no watch over a turn runs while a subagent does that an earlier turn has begun.
func TestWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := lifetime.NewLife(nil, t.Context())
		told := 0
		begin := func(l *lifetime.Life) {
			_, cancel := context.WithCancelCause(t.Context())
			var w *lifetime.Watch
			if l == life {
				w = lifetime.NewWatch(time.Minute, nil, func(time.Duration) { told++ }, func() {})
			}
			l.StartTurn(cancel, 0, 0, w)
		}
		first, second := lifetime.NewLife(life, t.Context()), lifetime.NewLife(life, t.Context())
		begin(life)
		begin(first)
		wait(time.Hour)
		life.EndTurn()
		begin(second)
		begin(life)
		wait(time.Hour)
		first.EndTurn()
		wait(time.Hour)
		synctest.Wait()
		if told != 0 {
			t.Errorf("told %d times while a subagent ran", told)
		}
		second.EndTurn()
		wait(time.Hour)
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
		life.EndTurn()
		begin(first) // above it no turn runs
		first.EndTurn()
	})
}
