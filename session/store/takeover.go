package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// Adopter goes on with sessions whose process has gone.
type Adopter interface {
	// May returns why the session of a log can't be gone on with; nil means it can. It is
	// asked again once nothing is stored any more of what the process before publishes.
	May(ctx context.Context, st *State) error

	// Adopt goes on with sessions that this process has taken over, parents first. It
	// returns once their work has begun.
	Adopt(ctx context.Context, taken []*Taken)
}

// Taken is a session that this process has taken over.
type Taken struct {
	Record    Record
	State     *State
	Publisher *eventbus.Publisher // of what follows in its log

	rev uint64 // of its stored record
}

// Repeat is the result of a call that was cut off and has changed nothing.
const Repeat = "[interrupted: the process ended during this call, which changes nothing. Make it again if you need its result.]"

// Step is a step of an agent's session that was cut off while its calls ran.
type Step struct {
	MessageID string
	Calls     []model.ToolCall
	Results   []model.ToolResult // of the calls; one without the id of its call is missing
}

// Step returns the step in which the session was cut off; nil means in none.
func (st *State) Step() *Step {
	if len(st.Sent) == 0 {
		return nil
	}
	m := st.Sent[len(st.Sent)-1]
	if m.Role != model.Assistant || st.cut[m.ID] == nil {
		return nil
	}
	return &Step{m.ID, m.ToolCalls, st.cut[m.ID]}
}

// takenOver takes what a takeover makes of the log so far: a message that was cut off,
// or of which calls are missing, is not part of the conversation.
func (f *fold) takenOver(ev event.SessionResumed) {
	r := &f.Record
	r.Takeovers, r.BootID, r.Stalled = ev.Takeover, ev.BootID, false
	f.Fenced = false // that of the process that has taken it over is the last
	f.Unsettled.add(f.reserved, 1)
	f.draft, f.reserved, f.shown, f.at = nil, nil, "", time.Time{}
	f.unmake()
	f.whole = nil // what follows is another process's
	if n := len(f.Sent); r.Agent != "" && f.Answer == nil && n > 0 && f.Sent[n-1].Role == model.Assistant && len(f.Sent[n-1].ToolCalls) == 0 {
		f.Sent = f.Sent[:n-1]
	}
}

// unmake takes back the calls of the last message where some of them are missing: none was
// begun then, since all are in the log before that.
func (f *fold) unmake() {
	if len(f.order) == 0 {
		return
	}
	last := len(f.order) - 1
	g := f.order[last]
	if len(g.message.ToolCalls) >= g.said {
		return
	}
	for _, call := range g.message.ToolCalls {
		delete(f.calls, call.ID)
	}
	g.message.ToolCalls, g.results, f.order = nil, nil, f.order[:last]
}

// pass counts the time up to an entry as worked, unless the session waited or had no
// process.
func (f *fold) pass(at time.Time) {
	if !f.at.IsZero() && at.After(f.at) {
		f.Worked += at.Sub(f.at)
	}
	f.at = at
	if f.Record.StartedAt.IsZero() || f.shown == event.StatusPaused || f.shown == event.StatusWaitingApproval {
		f.at = time.Time{}
	}
}

// Told returns the ids of the messages that the session was told, or knows of by the
// result of a call.
func (st *State) Told() []string {
	ids := make([]string, 0, len(st.told))
	for id := range st.told {
		ids = append(ids, id)
	}
	return ids
}

// choose returns which sessions of processes that have gone this one goes on with,
// parents first, and of others the reason why it does not. They are subagents whose last
// step allows it: those in the background whose parents are gone on with, too, or stand
// for a caller; detached ones, whatever becomes of their parents; and those that a call
// waits for with which an agent's session was cut off that is gone on with. A session that
// stands for a caller stays with what is below it.
func (s *Store) choose(ctx context.Context, ad Adopter, open []orphan, ours func(orphan) bool) (chosen []orphan, why map[string]error, err error) {
	byID := make(map[string]bool) // open sessions; true: chosen
	why = make(map[string]error)
	background := false
	for _, o := range open {
		byID[o.ID] = false
		background = background || o.Background && ours(o)
	}
	if !background {
		return nil, why, nil
	}
	below := make(map[string]bool)             // roots with chosen sessions below them
	waits := make(map[string][]model.ToolCall) // the calls of chosen sessions without an outcome
	open = slices.Clone(open)
	slices.SortStableFunc(open, func(a, b orphan) int { return a.Depth - b.Depth })
	for _, o := range open {
		switch {
		case !ours(o), o.EndedBy != "", o.Status.Ended():
			continue
		case o.Agent == "" && o.Depth == 0:
			byID[o.ID] = true
			chosen = append(chosen, o)
			continue
		case !o.Background && o.Depth < 2, !o.Detached && !byID[o.ParentID]: // nobody waits for it any more
			continue
		}
		state, err := s.State(ctx, o.Path)
		if err != nil {
			return nil, nil, err
		}
		if !state.Record.Background && !slices.ContainsFunc(waits[o.ParentID], func(c model.ToolCall) bool { return c.ID == state.CallID }) {
			continue
		}
		if why[o.ID] = ad.May(ctx, state); why[o.ID] != nil || state.Record.Closed || !state.logged {
			continue
		}
		byID[o.ID] = true
		waits[o.ID] = state.Open
		below[o.Path[0].SessionID] = true
		chosen = append(chosen, o)
	}
	chosen = slices.DeleteFunc(chosen, func(o orphan) bool { return o.Agent == "" && !below[o.ID] })
	return chosen, why, nil
}

// takeOver takes sessions over, parents first, and returns those that are this process's
// then.
func (s *Store) takeOver(ctx context.Context, ad Adopter, bootID string, chosen []orphan, pending []*Approval) (taken []*Taken, err error) {
	var errs []error
	lost := make(map[string]bool)
	for _, o := range chosen {
		if lost[o.ParentID] && !o.Detached {
			lost[o.ID] = true
			continue
		}
		t, err := s.take(ctx, ad, bootID, o, pending)
		if err != nil {
			lost[o.ID] = true
			if !errors.Is(err, eventbus.ErrEnded) && !errors.Is(err, errConflict) { // then its process, or another one, was first
				errs = append(errs, fmt.Errorf("taking over session %s: %w", o.ID, err))
			}
			continue
		}
		taken = append(taken, t)
	}
	return taken, errors.Join(errs...)
}

// take takes one session over.
func (s *Store) take(ctx context.Context, ad Adopter, bootID string, o orphan, pending []*Approval) (_ *Taken, err error) {
	var state *State
	if state, err = s.State(ctx, o.Path); err != nil {
		return nil, err
	}
	if state.Record.Closed {
		return nil, eventbus.ErrEnded
	}
	p, err := s.bus.TakeOver(ctx, o.Path, state.Fence, event.SessionResumed{Takeover: state.Record.Takeovers + 1, BootID: bootID})
	if err != nil {
		return nil, err
	}
	if state, err = s.State(ctx, o.Path); err != nil { // nothing of its process comes behind this
		return nil, err
	}
	if s.beforeEnd != nil {
		s.beforeEnd(o.ID)
	}
	t := &Taken{State: state, Publisher: p}
	s.stuck.Store(o.ID, true)
	defer func() {
		if err == nil || errors.Is(err, eventbus.ErrEnded) {
			s.stuck.Delete(o.ID)
		}
	}()
	if t.rev, err = s.own(ctx, o, &state.Record); err != nil {
		return nil, err
	}
	if state.Record.Agent != "" {
		// One that is taken over for the last time is no reason against itself.
		state.Record.Takeovers--
		err := ad.May(ctx, state)
		state.Record.Takeovers++
		if err != nil {
			return nil, cmp.Or(s.Abandon(ctx, t, err), eventbus.ErrEnded)
		}
	}
	if err = s.cancelApprovals(ctx, p, o.ID, pending, state.Pending); err != nil {
		return nil, err
	}
	if state.Record.Agent != "" { // it ends its step itself
		t.Record = state.Record
		return t, nil
	}
	for _, call := range state.Open {
		ev := event.ToolCallEnd{ToolCallID: call.ID, ToolName: call.Name, Result: Repeat, IsError: true}
		if err = p.Publish(ctx, ev); err != nil {
			return nil, err
		}
		state.Record.Work = state.Record.Work.Add(ev)
	}
	t.Record = state.Record
	return t, nil
}

// own stores the record of a session that was taken over, whatever its process has
// still stored of it, and returns its revision.
func (s *Store) own(ctx context.Context, o orphan, r *Record) (rev uint64, err error) {
	for tries := 3; ; tries-- {
		if rev, err = s.update(ctx, r, o.rev); tries == 0 || !errors.Is(err, errConflict) {
			return rev, err
		}
		if _, o.rev, err = s.read(ctx, o.ID); err != nil {
			return 0, err
		}
	}
}

// Abandon ends a session that this process has taken over, and can't go on with.
func (s *Store) Abandon(ctx context.Context, t *Taken, why error) error {
	s.stuck.Store(t.State.Record.ID, true)
	pending, err := s.Approvals(ctx)
	if err != nil {
		return err
	}
	r := t.State.Record
	if err = s.finish(ctx, orphan{&r, t.rev}, r.BootID, pending, interrupted(why)); err == nil {
		s.stuck.Delete(r.ID)
	}
	return err
}

// Resumed returns the conversation of a session that was taken over, as its model goes
// on with it, and which message of it is the task. Its last message is that of the step in
// which it was cut off, if there is one.
func (s *Store) Resumed(ctx context.Context, t *Taken) (messages []*Message, task int, err error) {
	own := t.State.completed(Repeat)
	if t.State.Step() != nil {
		own = own[:len(own)-1]
	}
	before, err := s.before(ctx, &t.Record, t.State)
	return append(before, own...), len(before), err
}
