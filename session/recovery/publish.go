package recovery

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// publishEnd adds to a session's log what it lacks to be complete, and its session_end.
func (rec *Recovery) publishEnd(ctx context.Context, state *log.State, r *record.Record, pending []*approval.Approval) error {
	p, err := rec.bus.Take(ctx, r.Path, state.Fence, r.BootID, r.EndedBy)
	if err != nil {
		return err
	}
	if !state.Started {
		if err := rec.begin(ctx, p, state, r); err != nil {
			return err
		}
	}
	if err := rec.cancelApprovals(ctx, p, r.ID, pending, state.Pending, false); err != nil {
		return err
	}
	if (r.Status == record.Interrupted || r.Status == record.Cancelled) && state.LastStatus != event.StatusAborted {
		if err := p.Publish(ctx, event.StatusChange{Status: event.StatusAborted}); err != nil {
			return err
		}
	}
	if err := rec.notices.AppendTo(ctx, p, state, r); err != nil {
		return err
	}
	if err := log.EndedEntry(r).AppendTo(ctx, p); err != nil {
		return err
	}
	return p.End(ctx, event.SessionEnd{Status: r.Status, StopReason: r.StopReason})
}

// begin adds to a session's log the beginning that was lost with its process. Before that,
// it does the same for the sessions above: they end later, and each must begin before those
// below it. Another process may do the same at the same time.
func (rec *Recovery) begin(ctx context.Context, p *eventbus.Publisher, state *log.State, r *record.Record) error {
	if len(r.Path) > 1 {
		if err := rec.beginAbove(ctx, r.Path[:len(r.Path)-1]); err != nil {
			return err
		}
	}
	if !state.Opened {
		if err := appendFirst(ctx, p, log.OpenedEntry(r, "", nil)); err != nil {
			return err
		}
	}
	return p.PublishFirst(ctx, r.StartEvent())
}

// appendFirst stores an entry and waits for that, unless the log has one of its kind.
func appendFirst(ctx context.Context, p *eventbus.Publisher, e log.Entry) error {
	return p.AppendFirst(ctx, e.Kind, e.Data)
}

// beginAbove is begin for the session at the end of path, if it is listed and has not
// begun.
func (rec *Recovery) beginAbove(ctx context.Context, path event.Path) error {
	above, err := rec.index.State(ctx, path)
	if err != nil || above.Started {
		return err
	}
	stored, _, err := rec.index.Read(ctx, path[len(path)-1].SessionID)
	if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && stored.Closed {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := rec.bus.Publisher(path)
	if err != nil {
		return err
	}
	return rec.begin(ctx, p, above, above.RecordOr(stored))
}

// cancelApprovals cancels the pending questions of a session. For each approval in asked,
// the questions that its log has asked, it publishes the outcome. With goesOn, the questions
// of the agent itself stay: its next process waits for the answers.
func (rec *Recovery) cancelApprovals(ctx context.Context, p *eventbus.Publisher, sessionID string, pending []*approval.Approval, asked []string, goesOn bool) error {
	for _, a := range pending {
		if a.SessionID != sessionID || goesOn && a.Ask != nil {
			continue
		}
		if _, _, err := rec.approvals.Resolve(ctx, a.ID, event.Cancelled, approval.Answer{}); err != nil {
			return err
		}
	}
	for _, id := range asked {
		a, err := rec.approvals.Get(ctx, id)
		switch {
		case err != nil: // it is not kept any more
			a = approval.Gone(id)
		case goesOn && a.Ask != nil:
			continue
		}
		a.Outcome = cmp.Or(a.Outcome, event.Cancelled)
		if err := p.Publish(ctx, a.Resolved()); err != nil {
			return err
		}
	}
	return nil
}
