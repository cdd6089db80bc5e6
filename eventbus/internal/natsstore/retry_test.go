package natsstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// TestRetry: an operation is repeated while the store is unavailable, within its limits.
func TestRetry(t *testing.T) {
	refused := errors.New("refused")
	failing := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	// No pause ends at the same moment as the limit.
	lim := limits{10*time.Second + time.Millisecond, 3 * time.Second}
	const closing = time.Minute + time.Millisecond
	hanging := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name  string
		lim   limits
		call  func(context.Context) error
		want  error
		after time.Duration
	}{
		{"succeeds", lim, failing(nil), nil, 0},
		{"refused", lim, failing(refused), refused, 0},
		{"away", lim, failing(nats.ErrNoResponders), nats.ErrNoResponders, lim.total},
		{"unanswered", lim, hanging, context.DeadlineExceeded, lim.total},
		{"away without a limit", limits{attempt: lim.attempt}, failing(nats.ErrNoResponders), nats.ErrNoResponders, closing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed, stop := context.WithCancelCause(t.Context())
				r := &retrier{state: newConnState(), closed: closed}
				r.state.connected()
				time.AfterFunc(closing, func() { stop(ErrClosed) })
				start := time.Now()
				_, err := retry(context.Background(), r, tt.lim, func(ctx context.Context) (struct{}, error) { return struct{}{}, tt.call(ctx) })
				if took := time.Since(start); !errors.Is(err, tt.want) || took != tt.after {
					t.Errorf("after %s: %v, want %v after %s", took, err, tt.want, tt.after)
				}
				stop(ErrClosed)
			})
		})
	}
}

// TestRetryAfterDisconnect: an attempt ends when the connection is lost, and the
// next one begins when it is back. Closing the store ends the wait for it.
func TestRetryAfterDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, stop := context.WithCancelCause(t.Context())
		r := &retrier{state: newConnState(), closed: closed}
		r.state.connected()
		time.AfterFunc(time.Second, r.state.disconnected)
		time.AfterFunc(5*time.Second, r.state.connected)
		start, attempts := time.Now(), 0
		call := func(ctx context.Context) (time.Duration, error) {
			if attempts++; attempts == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return time.Since(start), nil
		}
		if at, err := retry(t.Context(), r, defaultLimits, call); err != nil || at != 5*time.Second || attempts != 2 {
			t.Errorf("attempt %d at %s: %v, want the second one at 5s", attempts, at, err)
		}
		r.state.disconnected()
		time.AfterFunc(time.Second, func() { stop(ErrClosed) })
		if _, err := retry(t.Context(), r, defaultLimits, call); !errors.Is(err, ErrClosed) || attempts != 2 {
			t.Errorf("attempt %d: %v, want %v without another attempt", attempts, err, ErrClosed)
		}
	})
}

// TestCheckVersion: a server is refused if it could store events of a process that has lost
// its session.
func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.11.0": true, "2.15.2": true, "3.0.0-RC.1": true, "2.11.4-beta": true,
		"2.10.29": false, "2.9.0": false, "1.4.1": false, "": false, "unknown": false,
	} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}
