package taskt

// Load is how busy a worker is with children.
type Load struct {
	Capacity int // children of a caller that may run at once
	Running  int // children that run, of all depths
	Queued   int // that wait for a place
}

// Load returns how busy the service is now.
func (s *Service) Load() Load { return s.places.load() }

func (p *places) load() Load {
	l := Load{Capacity: cap(p.depths[0])}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, depth := range p.depths {
		l.Running += len(depth)
	}
	for _, parent := range p.parents {
		l.Queued += parent.users
	}
	l.Queued = max(0, l.Queued-l.Running) // a place may have been taken or given back in between
	return l
}
