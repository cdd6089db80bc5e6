package taskt

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

// Load returns how busy the service is now.
func (s *Service) Load() Load { return s.slots.load() }

func (p *slots) load() Load {
	l := Load{Capacity: cap(p.depths[0])}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, depth := range p.depths {
		l.Running += len(depth)
	}
	for _, parent := range p.parents {
		l.Queued += parent.users
	}
	l.Queued = max(0, l.Queued-l.Running) // a slot may have changed hands in between
	return l
}

// slots bound the children that run at once, by depth and by parent.
type slots struct {
	perParent int
	depths    []chan struct{} // the slots of each depth, from 1

	mu      sync.Mutex
	parents map[string]*parentSlots
	held    map[*slot]string // by which children in the background, for people
}

type parentSlots struct {
	slots chan struct{}
	users int // children that have a slot or wait for one
}

// slot is the right to run a child.
type slot struct {
	of       *slots
	parentID string
	parent   *parentSlots
	worker   chan struct{} // of the child's depth
}

func newSlots(l Limits) *slots {
	p := &slots{perParent: l.PerParent, parents: make(map[string]*parentSlots), held: make(map[*slot]string)}
	for range l.Depth {
		p.depths = append(p.depths, make(chan struct{}, l.Running))
	}
	return p
}

// enter counts a child at depth (from 1) of a parent.
func (p *slots) enter(parentID string, depth int) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	parent := p.parents[parentID]
	if parent == nil {
		parent = &parentSlots{slots: make(chan struct{}, p.perParent)}
		p.parents[parentID] = parent
	}
	parent.users++
	return &slot{p, parentID, parent, p.depths[depth-1]}
}

// leave ends what enter began.
func (s *slot) leave() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	delete(s.of.held, s)
	if s.parent.users--; s.parent.users == 0 {
		delete(s.of.parents, s.parentID)
	}
}

// release gives the slot back.
func (s *slot) release() {
	<-s.worker
	<-s.parent.slots
	s.leave()
}

// try returns a slot if one is free, else nil.
func (p *slots) try(parentID string, depth int) *slot {
	s := p.enter(parentID, depth)
	select {
	case s.parent.slots <- struct{}{}:
	default:
		s.leave()
		return nil
	}
	select {
	case s.worker <- struct{}{}:
		return s
	default:
		<-s.parent.slots
		s.leave()
		return nil
	}
}

// take waits for a slot. The error is the cause of ctx's end.
func (p *slots) take(ctx context.Context, parentID string, depth int) (*slot, error) {
	s := p.enter(parentID, depth)
	select {
	case s.parent.slots <- struct{}{}:
	case <-ctx.Done():
		s.leave()
		return nil, context.Cause(ctx)
	}
	select {
	case s.worker <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		<-s.parent.slots
		s.leave()
		return nil, context.Cause(ctx)
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
	e := &FullError{Limit: cap(p.depths[depth-1])}
	if parent := p.parents[parentID]; parent != nil && len(parent.slots) == cap(parent.slots) {
		e.Limit, e.PerParent = cap(parent.slots), true
	}
	var yours []string
	for s, who := range p.held {
		if s.parentID == parentID {
			yours = append(yours, who)
		}
	}
	slices.Sort(yours)
	e.Yours = strings.Join(yours, ", ")
	return e
}
