package taskt

import (
	"context"
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
}

type parentSlots struct {
	slots chan struct{}
	users int
}

func newSlots(l Limits) *slots {
	p := &slots{perParent: l.PerParent, parents: make(map[string]*parentSlots)}
	for range l.Depth {
		p.depths = append(p.depths, make(chan struct{}, l.Running))
	}
	return p
}

// take waits for a slot for a child at depth (from 1) of a parent. release gives
// it back. The error is the cause of ctx's end.
func (p *slots) take(ctx context.Context, parentID string, depth int) (release func(), err error) {
	p.mu.Lock()
	parent := p.parents[parentID]
	if parent == nil {
		parent = &parentSlots{slots: make(chan struct{}, p.perParent)}
		p.parents[parentID] = parent
	}
	parent.users++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if parent.users--; parent.users == 0 {
			delete(p.parents, parentID)
		}
	}

	worker := p.depths[depth-1]
	select {
	case parent.slots <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
	select {
	case worker <- struct{}{}:
	case <-ctx.Done():
		<-parent.slots
		leave()
		return nil, context.Cause(ctx)
	}
	return func() {
		<-worker
		<-parent.slots
		leave()
	}, nil
}
