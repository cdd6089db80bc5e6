package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/session/lifetime"
)

// TestClockExtend: a clock that gets more time ends that much later, also one that
// stands still meanwhile; one whose time has passed gets none.
func TestClockExtend(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			start, c := time.Now(), lifetime.NewClock(cancel, 5*time.Minute, 0)
			time.Sleep(time.Minute)
			if paused {
				c.Pause()
			}
			c.Extend(25 * time.Minute)
			if paused {
				time.Sleep(time.Hour)
				c.Resume()
				start = start.Add(time.Hour)
			}
			<-ctx.Done()
			var over *lifetime.TimeLimitError
			if !errors.As(context.Cause(ctx), &over) || over.Limit != 30*time.Minute || time.Since(start) != 30*time.Minute {
				t.Errorf("after %s: %v", time.Since(start), context.Cause(ctx))
			}
			c.Extend(time.Hour)
			if !c.Over() {
				t.Error("its time has passed, and it is not over")
			}
			c.Stop()
		})
	}
}

// TestClockRestart: the time begins anew with another limit, or none; on a clock that stands
// still, too.
func TestClockRestart(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for _, before := range []time.Duration{0, 5 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				c := lifetime.NewClock(cancel, before, 0)
				time.Sleep(time.Minute)
				if paused {
					c.Pause()
				}
				c.Restart(0)
				time.Sleep(time.Hour)
				c.Restart(20 * time.Minute)
				if paused {
					time.Sleep(time.Hour)
					c.Resume()
				}
				start := time.Now()
				<-ctx.Done()
				var over *lifetime.TimeLimitError
				if !errors.As(context.Cause(ctx), &over) || over.Limit != 20*time.Minute || time.Since(start) != 20*time.Minute {
					t.Errorf("after %s: %v", time.Since(start), context.Cause(ctx))
				}
				c.Restart(time.Hour)
				if !c.Over() {
					t.Error("its time has passed, and it is not over")
				}
				c.Stop()
			})
		}
	}
}

// TestClockStandsStill: what a clock measures is the time in which nothing waits.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		clock := lifetime.NewClock(cancel, time.Minute, 0)
		time.Sleep(40 * time.Second) // in the bubble: no time passes outside
		clock.Pause()
		clock.Pause() // a second call waits too
		time.Sleep(time.Hour)
		clock.Resume()
		time.Sleep(time.Hour)
		clock.Resume()
		resumed := time.Now()
		<-ctx.Done()
		if ran := time.Since(resumed); ran != 20*time.Second {
			t.Errorf("the clock ran for another %s, want 20s", ran)
		}
		clock.Stop()
	})
}
