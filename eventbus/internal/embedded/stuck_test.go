package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWithin: waiting for a server that does not stop ends in time, with an error.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, failed := make(chan struct{}), errors.New("it has failed")
		for _, tt := range []struct {
			shut func() error
			want error
			took time.Duration
		}{
			{func() error { return nil }, nil, 0},
			{func() error { <-time.After(closeTimeout - 1); return failed }, failed, closeTimeout - 1},
			{func() error { <-release; return nil }, ErrStuck, closeTimeout},
		} {
			began := time.Now()
			if err := within(closeTimeout, tt.shut); err != tt.want || time.Since(began) != tt.took {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(began), tt.want, tt.took)
			}
		}
		close(release)
	})
}

// TestStuck: a process whose server could not be stopped does not try to lead again: it
// would wait for its own lock.
func TestStuck(t *testing.T) {
	e := &Election{dir: t.TempDir(), stuck: true}
	if err := e.campaign(t.Context(), func() bool { return false }); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want that it is stuck", err)
	}
}
