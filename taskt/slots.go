package taskt

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/session"
)

// Load counts the children of a worker.
type Load struct {
	Capacity int // children of callers that may run at once
	Running  int // children that run, of all depths
	Queued   int // children that wait for a slot
}

// Load returns how busy the service is now.
func (s *Service) Load() Load { return s.slots.load() }

// Totals returns what the sessions of this process have used.
func (s *Service) Totals() session.Totals { return s.sessions.Totals() }

// Running returns how many sessions run in this process, by their agents: see
// [session.Manager.Running].
func (s *Service) Running() map[string]int { return s.sessions.Running() }

func (p *slots) load() Load {
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

// slots bound the children that run at once, by depth and by parent. Those that wait
// get theirs in turn: one of each parent, and of one parent in the order in which they
// came. Children that have ended count nowhere.
type slots struct {
	running, perParent int

	mu     sync.Mutex
	depths []*depth         // from 1
	held   map[*slot]string // by which children in the background, for people
}

// depth has the slots of the children at one depth.
type depth struct {
	free   int
	queues map[string]*queue // by parent
	turns  []*queue          // those that may have one more now, in their order
}

// queue is the children of one parent.
type queue struct {
	running int
	waiting []*slot
	inTurn  bool // it is in turns
}

// slot is the right to run a child.
type slot struct {
	of       *slots
	depth    *depth
	parentID string
	given    chan struct{} // closed once it is there; nil means it was there at once
}

func newSlots(l Limits) *slots {
	p := &slots{running: l.Running, perParent: l.PerParent, held: make(map[*slot]string)}
	for range l.Depth {
		p.depths = append(p.depths, &depth{free: l.Running, queues: make(map[string]*queue)})
	}
	return p
}

// try returns a slot for a child at depth (from 1) of a parent if one is free, else nil.
func (p *slots) try(parentID string, depth int) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takeFree(parentID, p.depths[depth-1])
}

// takeFree is try. mu is held.
func (p *slots) takeFree(parentID string, d *depth) *slot {
	q := d.queues[parentID]
	if d.free == 0 || q != nil && q.running == p.perParent {
		return nil
	}
	if q == nil {
		q = new(queue)
		d.queues[parentID] = q
	}
	q.running++
	d.free--
	return &slot{of: p, depth: d, parentID: parentID}
}

// take waits for a slot. The error is the cause of ctx's end.
func (p *slots) take(ctx context.Context, parentID string, depth int) (*slot, error) {
	p.mu.Lock()
	d := p.depths[depth-1]
	if s := p.takeFree(parentID, d); s != nil {
		p.mu.Unlock()
		return s, nil
	}
	q := d.queues[parentID]
	if q == nil {
		q = new(queue)
		d.queues[parentID] = q
	}
	s := &slot{of: p, depth: d, parentID: parentID, given: make(chan struct{})}
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

// line gives a queue its turn, if it may have one more. mu is held.
func (p *slots) line(d *depth, q *queue) {
	if !q.inTurn && len(q.waiting) > 0 && q.running < p.perParent {
		q.inTurn = true
		d.turns = append(d.turns, q)
	}
}

// giveUp ends the wait for a slot, which may have been given meanwhile.
func (s *slot) giveUp() {
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
		s.release()
	}
}

// release gives the slot back, to those who wait.
func (s *slot) release() {
	p, d := s.of, s.depth
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, s)
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

// forget drops a queue of which nothing is left. mu is held.
func (d *depth) forget(parentID string, q *queue) {
	if q.running == 0 && len(q.waiting) == 0 {
		delete(d.queues, parentID)
	}
}

// hold notes which child in the background has the slot.
func (s *slot) hold(agent, childID string) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.held[s] = agent + " in session " + childID
}

// full says why try has found no slot.
func (p *slots) full(parentID string, depth int) *FullError {
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
	for s, who := range p.held {
		if s.parentID == parentID {
			yours = append(yours, who)
		}
	}
	slices.Sort(yours)
	e.Yours, e.Waited = strings.Join(yours, ", "), running-len(yours)
	return e
}
