package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/log"
)

// restPause is the pause between two looks at the sessions.
const restPause = 20 * time.Millisecond

// handOverTime bounds the steps of [Manager.HandOver] after its context has ended.
const handOverTime = 10 * time.Second

// ErrWorkerEnds is the cause of the end of a session whose worker ends in order, and which can't
// be handed over. It is a [context.Canceled].
var ErrWorkerEnds error = workerEnds{}

type workerEnds struct{}

func (workerEnds) Error() string        { return "the worker has ended" }
func (workerEnds) Is(target error) bool { return target == context.Canceled }

// HandOver leaves the sessions in the background to the next process with [Options.TakesOver].
// Each ends its step first, or works on until ctx ends. A session that may says can't be
// resumed is cancelled. HandOver returns how many wait for that process then: nothing more of
// them is published here. Close follows soon, and no session is opened meanwhile.
func (m *Manager) HandOver(ctx context.Context, may func(context.Context, *log.State) error) int {
	m.p.holding.Store(true)
	m.awaitRest(ctx)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime)
	defer cancel()
	for m.cancelUnresumable(limit, may) {
		m.awaitRest(limit) // what has waited for them
	}
	apart := m.apart()
	for _, s := range slices.Clone(apart) {
		for at := s.parent; at != nil; at = at.parent {
			if at.caller && !slices.Contains(apart, at) {
				apart = append(apart, at)
			}
		}
	}
	var logs []*journal.Journal
	for _, s := range apart {
		logs = append(logs, s.log)
	}
	agents := 0
	for _, left := range journal.HandOver(logs) {
		if left.Agent() != "" {
			agents++
		}
	}
	if agents > 0 {
		m.p.Keeper.HandOver()
	}
	return agents
}

// apart returns the sessions that nobody waits for, with those below them, the deepest first.
func (m *Manager) apart() []*Session {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	live = slices.DeleteFunc(live, func(s *Session) bool { return !apart(s) })
	slices.SortFunc(live, func(a, b *Session) int { return len(b.path) - len(a.path) })
	return live
}

// apart reports whether nobody waits for an agent's session: it, or one above it, runs in the
// background of a caller, or is detached.
func apart(s *Session) bool {
	for at := s; at != nil && !at.caller; at = at.parent {
		if r := at.Record(); r.Detached || r.Background && at.parent != nil && at.parent.caller {
			return true
		}
	}
	return false
}

// HandedOver reports whether the session was left to the next process that resumes sessions.
func (s *Session) HandedOver() bool { return s.log.HandedOver() }

// hold does not return before the turn is cancelled if its session is to be handed over: it
// begins no step.
func (t *turn) hold() error {
	if s := t.s; s.p.holding.Load() && apart(s) {
		s.held.Store(true)
		<-t.context().Done()
		return context.Cause(t.context())
	}
	return nil
}

// awaitRest returns once no session that is to be handed over is within a step, or ctx ends.
func (m *Manager) awaitRest(ctx context.Context) {
	tick := time.NewTicker(restPause)
	defer tick.Stop()
	for {
		apart := m.apart()
		if !slices.ContainsFunc(apart, func(s *Session) bool { return !rests(s, apart) }) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rests reports whether a session is between two steps, or waits for one below it.
func rests(s *Session, live []*Session) bool {
	return s.log.Shown().Rests() || s.held.Load() || slices.ContainsFunc(live, func(c *Session) bool { return c.parent == s && !c.Record().Background })
}

// cancelUnresumable cancels the sessions that can't be handed over, and waits for their ends. It
// reports whether there were any.
func (m *Manager) cancelUnresumable(ctx context.Context, may func(context.Context, *log.State) error) (some bool) {
	for _, s := range m.apart() {
		err := s.log.Flush(ctx)
		var state *log.State
		if err == nil {
			state, err = m.p.Store.Index.State(ctx, s.path)
		}
		if err == nil {
			err = may(ctx, state)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		some = true
		m.p.Log.Info("a session is not handed over", "session", s.id, "err", err)
		s.life.End(ErrWorkerEnds)
		select {
		case <-s.done:
		case <-ctx.Done():
		}
	}
	return some
}
