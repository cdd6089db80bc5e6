package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Adopter resumes sessions whose process has exited.
type Adopter interface {
	// May returns why the session of a log can't be resumed; nil means it can. It is called
	// again once the store refuses what the session's previous process publishes.
	May(ctx context.Context, st *log.State) error

	// Adopt resumes sessions that this process has claimed, parents first. It returns once
	// their work has begun.
	Adopt(ctx context.Context, taken []*Claimed)
}

// Claimed is a session that this process has claimed.
type Claimed struct {
	Record    record.Record
	State     *log.State
	Publisher *eventbus.Publisher // of what follows in its log

	rev uint64 // of its stored record
}

// claimAll claims the chosen sessions, parents first, and returns the ones that now belong
// to this process.
func (rec *Recovery) claimAll(ctx context.Context, ad Adopter, bootID string, chosen []index.Stored, pending []*approval.Approval, handedOver map[string]bool) (taken []*Claimed, err error) {
	var errs []error
	lost := make(map[string]bool)
	for _, o := range chosen {
		if lost[o.ParentID] && !o.Detached {
			lost[o.ID] = true
			continue
		}
		t, err := rec.claim(ctx, ad, bootID, o, pending, handedOver[o.BootID])
		if err != nil {
			lost[o.ID] = true
			if !errors.Is(err, eventbus.ErrEnded) && !errors.Is(err, index.ErrConflict) { // otherwise its own process, or another one, was first
				errs = append(errs, fmt.Errorf("taking over session %s: %w", o.ID, err))
			}
			continue
		}
		taken = append(taken, t)
	}
	return taken, errors.Join(errs...)
}

// claim makes this process the owner of one session.
func (rec *Recovery) claim(ctx context.Context, ad Adopter, bootID string, o index.Stored, pending []*approval.Approval, handedOver bool) (_ *Claimed, err error) {
	var state *log.State
	if state, err = rec.index.State(ctx, o.Path); err != nil {
		return nil, err
	}
	if state.Record.Closed {
		return nil, eventbus.ErrEnded
	}
	p, err := rec.bus.TakeOver(ctx, o.Path, state.Fence, event.SessionResumed{Takeover: state.Record.Takeovers + 1, BootID: bootID, HandedOver: handedOver})
	if err != nil {
		return nil, err
	}
	if state, err = rec.index.State(ctx, o.Path); err != nil { // nothing that its old process sends is stored after this
		return nil, err
	}
	if rec.beforeEnd != nil {
		rec.beforeEnd(o.ID)
	}
	t := &Claimed{State: state, Publisher: p}
	rec.stuck.Store(o.ID, true)
	defer func() {
		if err == nil || errors.Is(err, eventbus.ErrEnded) {
			rec.stuck.Delete(o.ID)
		}
	}()
	if t.rev, err = rec.own(ctx, o, &state.Record); err != nil {
		return nil, err
	}
	if state.Record.Agent != "" {
		// This claim may be the last one allowed. Then it does not count against itself.
		before := *state
		if before.Record.Takeovers--; handedOver {
			before.Record.Takeovers++ // nor does it count at all
		}
		err := ad.May(ctx, &before)
		if err != nil {
			return nil, cmp.Or(rec.Abandon(ctx, t, err), eventbus.ErrEnded)
		}
	}
	if err = rec.cancelApprovals(ctx, p, o.ID, pending, state.Pending, state.Record.Agent != ""); err != nil {
		return nil, err
	}
	if state.Record.Agent != "" { // the agent ends its step itself
		t.Record = state.Record
		return t, nil
	}
	for _, call := range state.Open {
		ev := event.ToolCallEnd{ToolCallID: call.ID, ToolName: call.Name, Result: log.Repeat, IsError: true}
		if err = p.Publish(ctx, ev); err != nil {
			return nil, err
		}
		state.Record.Work = state.Record.Work.Add(ev)
	}
	t.Record = state.Record
	return t, nil
}

// Abandon ends a session that this process has claimed and can't resume.
func (rec *Recovery) Abandon(ctx context.Context, t *Claimed, why error) error {
	rec.stuck.Store(t.State.Record.ID, true)
	pending, err := rec.approvals.Pending(ctx)
	if err != nil {
		return err
	}
	r := t.State.Record
	if err = rec.finish(ctx, index.Stored{Record: &r, Rev: t.rev}, r.BootID, pending, interrupted(why)); err == nil {
		rec.stuck.Delete(r.ID)
	}
	return err
}
