// Package timelimit gives up calls of a file system that does not answer.
package timelimit

import (
	"fmt"
	"time"
)

// Answer is how long a file system may take to show a folder: a network's that is
// slow, not one whose server is gone.
const Answer = 10 * time.Second

// Do returns what f does, or an error if that takes longer than [Answer]. The
// goroutine then lives on until the file system answers: no call can be taken
// back.
func Do[T any](f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	timer := time.NewTimer(Answer)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, fmt.Errorf("the file system has not answered for %s: is its server reachable?", Answer)
	}
}
