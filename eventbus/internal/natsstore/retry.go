package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/embedded"
)

// retrier is what an operation needs to outlast a connection.
type retrier struct {
	state    *connState
	election *embedded.Election // nil means the store is external
	closed   context.Context    // ends with the store
}

// limits bound an operation.
type limits struct {
	total   time.Duration // for all attempts, if the context has no deadline; 0 means until the context ends
	attempt time.Duration // for each attempt
}

// defaultLimits are those of an operation that moves little data.
var defaultLimits = limits{operationTimeout, AttemptTimeout}

// readLimits are those of reading from the embedded store; an external one has no total.
var readLimits = limits{3 * readTimeout, readTimeout}

// retry calls f until it succeeds or fails for good. It outlasts a move of the store to
// another process, or of a stream to another server. f may be carried out twice: it must be
// safe to repeat. An error because the store is away is [ErrAway].
func retry[T any](ctx context.Context, r *retrier, lim limits, f func(ctx context.Context) (T, error)) (T, error) {
	v, err := retryWithin(ctx, r, lim, f)
	if err != nil && ctx.Err() == nil && r.closed.Err() == nil && r.away(err) {
		err = awayError{err}
	}
	return v, err
}

// retryWithin is retry with errors as they come.
func retryWithin[T any](ctx context.Context, r *retrier, lim limits, f func(ctx context.Context) (T, error)) (T, error) {
	if _, bounded := ctx.Deadline(); bounded || lim.total == 0 {
		return retryUntil(ctx, r, lim.attempt, f)
	}
	began := time.Now()
	for left := lim.total; ; {
		limited, cancel := context.WithTimeout(ctx, left)
		v, err := retryUntil(limited, r, lim.attempt, f)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if left = max(lim.total, r.patience()) - r.waited(began); err == nil || !late || left <= 0 {
			return v, err
		}
	}
}

// patience is [Health.Patience].
func (r *retrier) patience() time.Duration {
	if r.embedded() && !r.election.Failing() {
		return ackTimeout
	}
	return operationTimeout
}

// waited is [Store.Waited].
func (r *retrier) waited(began time.Time) time.Duration {
	since := time.Since(began)
	if since > embedded.StoppedTimeout {
		return since
	}
	return min(since, time.Since(r.election.StoppedAt()))
}

// retryUntil is retry until ctx ends.
func retryUntil[T any](ctx context.Context, r *retrier, limit time.Duration, f func(ctx context.Context) (T, error)) (T, error) {
	for {
		connected, end, err := r.state.await(ctx, r.closed)
		if err != nil {
			var none T
			return none, fmt.Errorf("%w%s", err, r.diagnosis())
		}
		began := time.Now()
		attempt, stop := context.WithTimeout(connected, limit)
		v, err := f(attempt)
		unanswered := attempt.Err() != nil
		stop()
		end()
		if err != nil && r.closed.Err() != nil && errors.Is(err, nats.ErrConnectionClosed) {
			return v, context.Cause(r.closed) // which is why it was closed
		}
		if err == nil || ctx.Err() != nil || !unanswered && !r.away(err) {
			return v, err
		}
		if unanswered && r.election.ErrorSince(began) {
			return v, fmt.Errorf("%w%s", err, r.election.Diagnosis())
		}
		if !pause(ctx, r.closed, retryPause) {
			if errors.Is(err, context.Canceled) { // by the end of the store
				err = cmp.Or(context.Cause(r.closed), err)
			}
			return v, err
		}
	}
}

// retryDefault is [retry] with [defaultLimits].
func retryDefault[T any](ctx context.Context, r *retrier, f func(ctx context.Context) (T, error)) (T, error) {
	return retry(ctx, r, defaultLimits, f)
}

// away reports whether err says that the store is away for a while.
func (r *retrier) away(err error) bool {
	if r.embedded() && (errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)) {
		return true // the leader is about to end
	}
	return Transient(err) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// diagnosis returns what is known to be wrong with the store, in the form of a
// remark behind an error that does not say it.
func (r *retrier) diagnosis() string {
	if r.embedded() {
		return r.election.Diagnosis()
	}
	return r.state.diagnosis()
}

func (r *retrier) embedded() bool { return r.election != nil }

// pause waits for d, and reports whether neither context ended before.
func pause(ctx, closed context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-closed.Done():
		return false
	case <-time.After(d):
		return true
	}
}
