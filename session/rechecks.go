package session

import "sync"

// rechecks tells waiting calls that the rules of this process have changed.
type rechecks struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// add returns what is sent to after a change, and what ends that.
func (r *rechecks) add() (changed <-chan struct{}, forget func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[chan struct{}]bool)
	}
	r.waiting[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, c)
	}
}

func (r *rechecks) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.waiting {
		select {
		case c <- struct{}{}:
		default: // it is yet to look at an earlier one
		}
	}
}
