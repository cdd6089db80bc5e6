package allowance_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/tool/internal/allowance"
)

var errOver = errors.New("the time is over")

// TestHold: time that somebody takes to answer does not count, also where two
// questions overlap.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, a := allowance.New(t.Context(), 10*time.Second, errOver)
		defer a.End()
		<-time.After(4 * time.Second)
		first := a.Hold()
		<-time.After(time.Hour)
		second := a.Hold()
		first()
		first() // a second time does nothing
		<-time.After(time.Hour)
		if ctx.Err() != nil {
			t.Fatalf("ended while it stood still: %v", context.Cause(ctx))
		}
		second()
		<-ctx.Done()
		if took := time.Since(began); took != 2*time.Hour+10*time.Second || !errors.Is(context.Cause(ctx), errOver) {
			t.Errorf("ended after %s with %v", took, context.Cause(ctx))
		}
	})
}

// TestEnd: what is resumed after the end starts nothing.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, a := allowance.New(t.Context(), time.Second, errOver)
		resume := a.Hold()
		a.End()
		resume()
		if err := context.Cause(ctx); errors.Is(err, errOver) || err == nil {
			t.Errorf("ended with %v", err)
		}
	})
}
