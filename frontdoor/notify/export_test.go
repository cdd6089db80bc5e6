package notify

import "time"

// SetLockEvery sets how often a process looks whether it is to send, and returns what undoes it.
func SetLockEvery(d time.Duration) (undo func()) {
	before := lockEvery
	lockEvery = d
	return func() { lockEvery = before }
}
