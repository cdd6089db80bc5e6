package disk

import (
	"path/filepath"
	"sync"
	"time"
)

// Limits of calls that do not return. Such a call cannot be ended: it keeps a
// goroutine and a thread of the system until the file system answers.
const (
	defaultTimeout = 2 * time.Second

	// maxStuck is how many calls may be stuck at once, and maxStuckFolder how
	// many of them for paths of one folder. No further one is made there until
	// one of them returns.
	maxStuck       = 64
	maxStuckFolder = 8

	// While shortenFrom calls or more are stuck, further ones get only a part of
	// the time, so that a scan ends however many of its files do not answer.
	shortenFrom = 4
	shortenBy   = 20
)

// Limiter gives calls of the file system a timeout. A call that takes longer is
// stuck: its goroutine stays behind, and nothing waits for it. Until it has
// returned no other call of the same kind is made for the same path. So a file
// keeps one goroutine at most, however often it is looked at.
type Limiter struct {
	timeout time.Duration
	back    chan struct{}

	mu      sync.Mutex
	calls   map[callKey]*call
	stuck   int            // calls that timed out and have not returned
	folders map[string]int // the same, by the folder of their paths
}

type callKey struct{ kind, path string }

// call is one that has been made.
type call struct {
	done  chan struct{} // closed when it has returned
	stuck bool          // it timed out; under Limiter.mu
	value any           // a pointer to what it returned; read once done
	err   error
}

// NewLimiter returns a Limiter that gives each call that timeout.
func NewLimiter(timeout time.Duration) *Limiter {
	return &Limiter{timeout: timeout, back: make(chan struct{}, 1), calls: map[callKey]*call{}, folders: map[string]int{}}
}

// Back receives when a call that was stuck has returned.
func (l *Limiter) Back() <-chan struct{} { return l.back }

// begin returns the call to wait for, whether the caller has to make it, and how
// long to wait. The call is nil where none may be made.
func (l *Limiter) begin(key callKey) (c *call, own bool, timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	timeout = l.timeout
	if l.stuck >= shortenFrom {
		timeout /= shortenBy
	}
	if c = l.calls[key]; c != nil {
		if c.stuck {
			return nil, false, 0
		}
		return c, false, timeout
	}
	if l.stuck >= maxStuck || l.stuck > 0 && l.folders[filepath.Dir(key.path)] >= maxStuckFolder {
		return nil, false, 0
	}
	c = &call{done: make(chan struct{})}
	l.calls[key] = c
	return c, true, timeout
}

// end notes that c has returned.
func (l *Limiter) end(key callKey, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(c.done)
	delete(l.calls, key)
	if !c.stuck {
		return
	}
	l.stuck--
	folder := filepath.Dir(key.path)
	if l.folders[folder]--; l.folders[folder] == 0 {
		delete(l.folders, folder)
	}
	select {
	case l.back <- struct{}{}:
	default:
	}
}

// abandon notes that c timed out; false: it has just returned.
func (l *Limiter) abandon(key callKey, c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-c.done:
		return false
	default:
	}
	if !c.stuck {
		c.stuck = true
		l.stuck++
		l.folders[filepath.Dir(key.path)]++
	}
	return true
}
