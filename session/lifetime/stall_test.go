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
		time.Sleep(50 * time.Second)
		w.Heard()
		time.Sleep(30 * time.Second)
		w.Pause()
		w.Pause()
		time.Sleep(time.Hour)
		w.Resume()
		time.Sleep(time.Hour)
		w.Resume()
		time.Sleep(31 * time.Second) // and 30 s before
		synctest.Wait()
		at := 50*time.Second + time.Minute + 2*time.Hour
		if len(told) != 1 || told[0] != at {
			t.Errorf("told at %v, want at %v", told, at)
		}
		w.Heard()
		time.Sleep(119 * time.Second)
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

// TestWatchTells: a watch that ends nothing says so of each time in which nothing happens,
// once.
func TestWatchTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		w := lifetime.NewWatch(time.Minute, nil, func(time.Duration) { told = append(told, time.Since(start)) }, func() {})
		time.Sleep(10*time.Minute + 30*time.Second)
		w.Heard()
		time.Sleep(10 * time.Minute)
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
		var s lifetime.Watched
		told := 0
		begin := func() { s.Begin(lifetime.NewWatch(time.Minute, nil, func(time.Duration) { told++ }, func() {})) }
		begin()
		s.Enter()
		time.Sleep(time.Hour)
		s.End()
		s.Enter()
		begin()
		time.Sleep(time.Hour)
		s.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if told != 0 {
			t.Errorf("told %d times while a subagent ran", told)
		}
		s.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
		s.End()
		s.Enter() // without a turn
		s.Leave()
		if s.Now() != nil {
			t.Error("there is a watch without a turn")
		}
	})
}
