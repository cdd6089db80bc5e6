package agentdefs

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Bounds of the calls that a file system holds up. Such a call can't be ended:
// it keeps a goroutine and a thread of the system until it returns.
const (
	defaultCallTime = 2 * time.Second

	// maxHeld is how many calls may be held up at once, and maxHeldPlace how
	// many of paths in one folder. No further one is made there until one of
	// them returns.
	maxHeld      = 64
	maxHeldPlace = 8

	// With hurriedFrom calls held up, each further one gets only a part of the
	// time, so that a scan ends however many they are.
	hurriedFrom = 4
	hurried     = 20
)

// heldUpError says that the file system has not answered.
type heldUpError struct {
	after time.Duration
	given bool // this call was made and given up; false: it was not made
}

func (e *heldUpError) Error() string {
	return fmt.Sprintf("the file system has not answered within %v", e.after)
}

// guard bounds calls of the file system in time. One that takes longer is given
// up: its goroutine stays behind, and nobody waits for it. Until it has returned
// no other is made of the same kind for the same path. So a file keeps one
// goroutine at most, however often it is looked at.
type guard struct {
	limit time.Duration
	back  chan struct{} // a call that was given up has returned

	mu     sync.Mutex
	calls  map[callKey]*call
	held   int            // calls that were given up and have not returned
	places map[string]int // the same, by the folder of their paths
}

type callKey struct{ kind, path string }

// call is one that has been made.
type call struct {
	done  chan struct{} // closed when it has returned
	held  bool          // it was given up; under guard.mu
	value any           // a pointer to what it returned; read once done
	err   error
}

func newGuard(limit time.Duration) *guard {
	return &guard{limit: limit, back: make(chan struct{}, 1), calls: map[callKey]*call{}, places: map[string]int{}}
}

// guarded returns what f does, or a [heldUpError] if that takes too long, or the
// error of d's context if that ends before. A call for the same that is running
// is waited for instead.
func guarded[T any](d *disk, kind, path string, f func() (T, error)) (T, error) {
	var none T
	g, key := d.guard, callKey{kind, path}
	c, own, limit := g.begin(key)
	if c == nil {
		return none, &heldUpError{after: g.limit}
	}
	if own {
		value := new(T)
		c.value = value
		go func() {
			*value, c.err = f()
			g.end(key, c)
		}()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-d.ctx.Done():
		return none, d.ctx.Err()
	case <-timer.C:
		if g.giveUp(key, c) {
			return none, &heldUpError{after: g.limit, given: own}
		}
	}
	return *c.value.(*T), c.err
}

// begin returns the call to wait for, whether the caller has to make it, and
// for how long to wait; nil where none may be made.
func (g *guard) begin(key callKey) (c *call, own bool, limit time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit = g.limit
	if g.held >= hurriedFrom {
		limit /= hurried
	}
	if c = g.calls[key]; c != nil {
		if c.held {
			return nil, false, 0
		}
		return c, false, limit
	}
	if g.held >= maxHeld || g.held > 0 && g.places[filepath.Dir(key.path)] >= maxHeldPlace {
		return nil, false, 0
	}
	c = &call{done: make(chan struct{})}
	g.calls[key] = c
	return c, true, limit
}

// end notes that c has returned.
func (g *guard) end(key callKey, c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(c.done)
	delete(g.calls, key)
	if !c.held {
		return
	}
	g.held--
	place := filepath.Dir(key.path)
	if g.places[place]--; g.places[place] == 0 {
		delete(g.places, place)
	}
	select {
	case g.back <- struct{}{}:
	default:
	}
}

// giveUp notes that c is not waited for any longer; false: it has just returned.
func (g *guard) giveUp(key callKey, c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-c.done:
		return false
	default:
	}
	if !c.held {
		c.held = true
		g.held++
		g.places[filepath.Dir(key.path)]++
	}
	return true
}
