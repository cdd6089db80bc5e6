package gate

import "sync"

// Changes returns a channel that has a value once the rules of this process have changed, until
// forget is called.
func (p *Policy) Changes() (changed <-chan struct{}, forget func()) { return p.changes.follow() }

// changes tells calls that wait that the rules have changed.
type changes struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

func (c *changes) follow() (changed <-chan struct{}, forget func()) {
	one := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = make(map[chan struct{}]bool)
	}
	c.waiting[one] = true
	return one, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, one)
	}
}

func (c *changes) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.waiting {
		select {
		case one <- struct{}{}:
		default: // it has not seen the change before
		}
	}
}
