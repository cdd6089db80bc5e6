package taskt

import (
	"context"
	"errors"
	"time"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/taskt/report"
	"github.com/agentworker/worker/tool"
)

var _ session.Task = (*child)(nil)

// open opens the session. made is the call of the parent that opens it; nil for one that was
// claimed.
func (c *child) open(ctx context.Context, made *tool.Call) error {
	spec, err := c.spec(ctx)
	if err != nil {
		return errors.Join(err, c.place.Abandon(ctx))
	}
	if made != nil {
		spec.ParentMessageID, spec.ParentCallID = made.MessageID, made.ID
	}
	if c.Child, err = c.service.sessions.OpenChild(ctx, spec, c); err == nil {
		err = c.begun(ctx)
	}
	if err != nil {
		return errors.Join(err, c.place.Abandon(ctx))
	}
	if c.req.Def.PlanExit != "" {
		c.service.planning.Store(c.ID(), c)
	}
	if c.from != nil && c.from.assignment != (requests.Assignment{}) {
		c.Assign(c.from.assignment)
	}
	c.wait.open(c.ID())
	return nil
}

// begun does what comes between the opening of a session that resumes another and its first step.
// It ends the session on an error.
func (c *child) begun(ctx context.Context) error {
	if c.from == nil || c.from.claimed != nil {
		return nil
	}
	err := c.checkShared(ctx)
	if err == nil && c.from.opened != nil {
		err = c.from.opened(ctx)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, c.End(record.Failed, err))
}

// checkShared returns an error if a third session shares the budget of this one and of the one that it
// resumes. Each of the two finds the other.
func (c *child) checkShared(ctx context.Context) error {
	if c.Budget() == nil {
		return nil
	}
	_, err := c.service.budgets.carried(ctx, c.from, c.parent, c.ID())
	return err
}

// Enter implements [session.Task].
func (c *child) Enter(ctx context.Context, wait bool) (bool, error) {
	pool, parentID, depth := c.service.slots, c.parent.ID(), len(c.parent.Path())
	c.mu.Lock()
	if c.slot == nil {
		c.slot = pool.Try(parentID, depth)
	}
	entered := c.slot != nil
	c.mu.Unlock()
	if entered || !wait {
		return entered, nil
	}
	slot, err := pool.Wait(ctx, parentID, depth)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slot = slot
	if c.moved {
		slot.SetBackground(c.req.Agent, c.ID())
	}
	return true, nil
}

// Leave implements [session.Task].
func (c *child) Leave() { c.slot.Release() }

// Moved implements [session.Task].
func (c *child) Moved() {
	c.mu.Lock()
	c.moved = true
	if c.slot != nil {
		c.slot.SetBackground(c.req.Agent, c.ID())
	}
	c.mu.Unlock()
	c.wait.move(c.req.Agent, c.ID(), c.parent.Agent() != "")
}

// Ending implements [session.Task].
func (c *child) Ending(ctx context.Context, out *session.Outcome) {
	for _, end := range c.unfinished {
		end(ctx)
	}
	c.service.planning.Delete(c.ID())
	c.service.NoteEvidence(c.Session, out)
	c.leavePlace(ctx, out)
}

// Ended implements [session.Task].
func (c *child) Ended(ctx context.Context, out *session.Outcome, background bool) {
	r := &Result{Agent: c.req.Agent, SessionID: c.ID(), Record: c.Record(), Status: out.Status, Text: out.Text, Earlier: out.Earlier}
	r.Duration = r.Record.Duration(time.Now())
	if out.Err != nil {
		r.Partial = out.Partial
		r.Fail(ctx, out.Err)
	}
	if background {
		c.notifyParent(r)
	}
	c.wait.end(r)
}

// notifyParent tells the parent how a child in the background has ended.
func (c *child) notifyParent(r *Result) {
	if r.Err == nil && outcome.Skipped(r.Text) {
		return
	}
	if r.Err != nil && r.Partial == "" && r.Record.Work.ToolCalls > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		state, err := c.service.sessions.Store().Index.State(ctx, r.Record.Path)
		if err != nil {
			c.service.log.Warn("reading the latest tool result of a session", "session", r.SessionID, "err", err)
		} else {
			r = &Result{Agent: r.Agent, SessionID: r.SessionID, Status: r.Status, Text: state.Latest(r.Text), Err: r.Err, Record: r.Record}
		}
	}
	c.parent.Notify(outcome.NoticeID(r.SessionID), outcome.EndMessage(&r.Record, r.Status, r.ForModel()))
}

// NoteEvidence looks up the places that an answer names as evidence, if it is a report, and
// notes what is there. The session has not ended yet, and its files are as it left them.
func (s *Service) NoteEvidence(of *session.Session, out *session.Outcome) {
	if out.Err != nil {
		return
	}
	rep := report.Parse(out.Text)
	if rep == nil {
		return
	}
	if found := rep.Look(of.Root(), of.Readable); len(found) > 0 {
		if err := of.SetEvidence(found); err != nil {
			s.log.Error("noting the evidence of an answer", "session", of.ID(), "err", err)
		}
	}
}
