package session

import (
	"context"
	"time"
)

// Clock is the clock of a session's time, for its test.
type Clock struct{ c *clock }

// StartClock starts one.
func StartClock(ctx context.Context, limit time.Duration) (context.Context, Clock) {
	ctx, c := startClock(ctx, limit)
	return ctx, Clock{c}
}

func (c Clock) Pause()  { c.c.pause() }
func (c Clock) Resume() { c.c.resume() }
func (c Clock) Stop()   { c.c.stop() }
