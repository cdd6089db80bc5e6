package lsp

import (
	"errors"
	"fmt"

	"github.com/agentworker/worker/permission"
)

// start is a server that starts, for all that want it.
type start struct {
	done chan struct{} // closed once it runs, or does not

	// Set before done is closed.
	client *client
	err    error
	first  *job // the check of the first of edits

	// Guarded by the connection.
	edits [][]edit // that are looked at once it runs, in this order
	left  bool     // the first of them waits no longer
}

// use returns the client that runs, or else the start of one, which it begins where there is none. It
// waits for neither.
func (c *connection) use(rules *permission.Layers) (*client, *start, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, errors.New("the session has ended")
	case c.begun != nil:
		return nil, c.begun, nil
	case c.client != nil && c.client.broken() == nil:
		return c.client, nil, nil
	}
	s := &start{done: make(chan struct{})}
	c.begun = s
	c.starting.Go(func() { c.run(s, rules) })
	return nil, s, nil
}

// run makes a start.
func (c *connection) run(s *start, rules *permission.Layers) {
	client, err := c.again(rules)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = nil
	s.client, s.err = client, err
	if err == nil {
		c.client = client
		c.starts++
	}
	for i := range s.edits {
		c.checkStarted(s, i)
	}
	close(s.done)
}

// checkStarted has the server look at one of the edits of a start that is over. c.mu is held.
func (c *connection) checkStarted(s *start, i int) {
	waits := i == 0 && !s.left
	switch {
	case s.err == nil:
		j, _ := s.client.check(s.edits[i], waits)
		if i == 0 {
			s.first = j
		}
	case i == 0 && !waits:
		c.failed = "(" + clean(s.err.Error()) + ")"
	}
}

// again starts the server, and ends the broken one that was there before.
func (c *connection) again(rules *permission.Layers) (*client, error) {
	c.mu.Lock()
	broken, starts := c.client, c.starts
	c.mu.Unlock()
	if broken != nil {
		why := broken.broken()
		if starts >= maxStarts {
			return nil, fmt.Errorf("the language server %s has failed %d times and is not started again: %w", c.server.Name, starts, why)
		}
		if err := broken.end(); err != nil {
			return nil, err
		}
		c.mu.Lock()
		c.client = nil
		c.failed = fmt.Sprintf("(%s: %s. It is started again.)", c.server.Name, clean(why.Error()))
		c.mu.Unlock()
	}
	client, err := c.launch(rules)
	if err != nil {
		return nil, fmt.Errorf("the language server %s does not start: %w", c.server.Name, err)
	}
	return client, nil
}

// enqueue adds edits to those that are looked at once a server runs. first says that they are the first.
func (c *connection) enqueue(s *start, edits []edit) (first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(s.edits) >= maxJobs {
		return false, fmt.Errorf("no diagnostics: %s is starting, and %d changes wait for it", c.server.Name, maxJobs)
	}
	s.edits = append(s.edits, edits)
	select {
	case <-s.done: // since it was asked for
		c.checkStarted(s, len(s.edits)-1)
	default:
	}
	return len(s.edits) == 1, nil
}

// leave notes that the first edit waits no longer for a start.
func (c *connection) leave(s *start) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.left = true
	select {
	case <-s.done: // at the same moment
		if s.err != nil {
			c.failed = "(" + clean(s.err.Error()) + ")"
		} else {
			s.client.leave(s.first)
		}
	default:
	}
}
