// Package slots bounds the children that run at once.
//
// A [Pool] has the slots of one worker. A [Dispatcher] finds a slot for each call of a front
// door that several workers share: here, or in another worker.
package slots

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Load counts the children of a worker.
type Load struct {
	Capacity int // children of callers that may run at once
	Running  int // children that run, of all depths
	Queued   int // children that wait for a slot
}

// Pool has the slots of a worker, by depth and by parent. Parents that wait get slots in
// turn, and the children of one parent in the order in which they asked.
type Pool struct {
	running, perParent int

	mu     sync.Mutex
	depths []*depth         // from 1
	names  map[*Slot]string // of the children in the background, for people
}

// depth has the slots of the children at one depth.
type depth struct {
	free   int
	queues map[string]*queue // by parent
	turns  []*queue          // the queues that may have one more slot now, in their order
}

// queue is the children of one parent. It is dropped with the last of them.
type queue struct {
	running int
	waiting []*Slot
	inTurn  bool // it is in turns
}

// Slot is the right to run a child.
type Slot struct {
	of       *Pool
	depth    *depth
	parentID string
	given    chan struct{} // closed when a child that waits has the slot
}

// New returns the slots of a worker: so many at each depth, and for each parent.
func New(depths, running, perParent int) *Pool {
	p := &Pool{running: running, perParent: perParent, names: make(map[*Slot]string)}
	for range depths {
		p.depths = append(p.depths, &depth{free: running, queues: make(map[string]*queue)})
	}
	return p
}

// Load returns how busy the worker is.
func (p *Pool) Load() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := Load{Capacity: p.running}
	for _, d := range p.depths {
		l.Running += p.running - d.free
		for _, q := range d.queues {
			l.Queued += len(q.waiting)
		}
	}
	return l
}

// Try returns a slot for a child at depth (from 1), or nil if none is free.
func (p *Pool) Try(parentID string, depth int) *Slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.try(parentID, p.depths[depth-1])
}

// try is Try with mu held.
func (p *Pool) try(parentID string, d *depth) *Slot {
	if q := d.queues[parentID]; d.free == 0 || q != nil && q.running == p.perParent {
		return nil
	}
	d.queue(parentID).running++
	d.free--
	return &Slot{of: p, depth: d, parentID: parentID}
}

// queue returns the queue of a parent.
func (d *depth) queue(parentID string) *queue {
	q := d.queues[parentID]
	if q == nil {
		q = new(queue)
		d.queues[parentID] = q
	}
	return q
}

// Wait waits for a slot. The error is the cause of ctx's end.
func (p *Pool) Wait(ctx context.Context, parentID string, depth int) (*Slot, error) {
	p.mu.Lock()
	d := p.depths[depth-1]
	s := p.try(parentID, d)
	if s != nil {
		p.mu.Unlock()
		return s, nil
	}
	s = &Slot{of: p, depth: d, parentID: parentID, given: make(chan struct{})}
	q := d.queue(parentID)
	q.waiting = append(q.waiting, s)
	p.line(d, q)
	p.mu.Unlock()
	select {
	case <-s.given:
		return s, nil
	case <-ctx.Done():
		s.giveUp()
		return nil, context.Cause(ctx)
	}
}

// line gives a queue its turn if it may have one more slot. mu is held.
func (p *Pool) line(d *depth, q *queue) {
	if !q.inTurn && len(q.waiting) > 0 && q.running < p.perParent {
		q.inTurn = true
		d.turns = append(d.turns, q)
	}
}

// giveUp ends the wait for a slot, which may have been given in the meantime.
func (s *Slot) giveUp() {
	s.of.mu.Lock()
	q := s.depth.queues[s.parentID]
	i := slices.Index(q.waiting, s)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		if d := s.depth; len(q.waiting) == 0 && q.inTurn {
			q.inTurn = false
			d.turns = slices.DeleteFunc(d.turns, func(other *queue) bool { return other == q })
		}
		s.depth.forget(s.parentID, q)
	}
	s.of.mu.Unlock()
	if i < 0 {
		s.Release()
	}
}

// Release gives the slot back. The next child that waits gets it.
func (s *Slot) Release() {
	p, d := s.of, s.depth
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.names, s)
	q := d.queues[s.parentID]
	q.running--
	d.free++
	p.line(d, q)
	for d.free > 0 && len(d.turns) > 0 {
		next := d.turns[0]
		d.turns = slices.Delete(d.turns, 0, 1)
		next.inTurn = false
		given := next.waiting[0]
		next.waiting = slices.Delete(next.waiting, 0, 1)
		next.running++
		d.free--
		close(given.given)
		p.line(d, next)
	}
	d.forget(s.parentID, q)
}

// forget drops a queue without children. mu is held.
func (d *depth) forget(parentID string, q *queue) {
	if q.running == 0 && len(q.waiting) == 0 {
		delete(d.queues, parentID)
	}
}

// SetBackground notes the child in the background that has the slot. [Pool.Full] names it.
func (s *Slot) SetBackground(agent, childID string) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.names[s] = agent + " in session " + childID
}

// Full returns the error for a call that found no free slot.
func (p *Pool) Full(parentID string, depth int) *FullError {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := &FullError{Limit: p.running}
	running := 0
	if q := p.depths[depth-1].queues[parentID]; q != nil {
		running = q.running
	}
	if running == p.perParent {
		e.Limit, e.PerParent = p.perParent, true
	}
	var yours []string
	for s, name := range p.names {
		if s.parentID == parentID {
			yours = append(yours, name)
		}
	}
	slices.Sort(yours)
	e.Yours, e.Waited = strings.Join(yours, ", "), running-len(yours)
	return e
}
