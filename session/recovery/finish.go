package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// end is finish that tries again when the session's record has changed meanwhile, because
// its process may have written its last state. It gives up when another process ends or
// resumes the session.
func (rec *Recovery) end(ctx context.Context, o index.Stored, bootID string, pending []*approval.Approval, end ending) error {
	for tries := 3; ; tries-- {
		err := rec.finish(ctx, o, bootID, pending, end)
		if tries == 0 || !errors.Is(err, index.ErrConflict) {
			return err
		}
		r, rev, readErr := rec.index.Read(ctx, o.ID)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		if r.Closed || r.EndedBy != o.EndedBy || r.BootID != o.BootID {
			return err
		}
		o = index.Stored{Record: r, Rev: rev}
	}
}

// finish does whatever is left of a session's end, as its log tells. Of several processes
// one succeeds; the others get [index.ErrConflict]. The error is the same if another
// process has claimed the session meanwhile. end is how it ends if its log does not say.
func (rec *Recovery) finish(ctx context.Context, o index.Stored, bootID string, pending []*approval.Approval, end ending) error {
	state, err := rec.index.State(ctx, o.Path)
	if err != nil {
		return err
	}
	r := state.RecordOr(o.Record)
	if r.Closed { // only its record lags
		_, err := rec.index.Update(ctx, r, o.Rev)
		return err
	}
	if r.Takeovers > 0 && r.BootID != o.BootID && r.BootID != bootID { // another process has resumed it, and its record does not show that yet
		_, err := rec.own(ctx, o, r)
		return errors.Join(fmt.Errorf("ending session %s: %w", r.ID, index.ErrConflict), err)
	}
	if lost, err := rec.unbegun(ctx, o, state, bootID); lost || err != nil {
		if err == nil {
			err = rec.index.Remove(ctx, r)
		}
		return err
	}
	if o.Status.Ended() { // but its session_end was not stored
		r.Status, r.Error, r.StopReason, r.EndedAt = o.Status, o.Error, o.StopReason, o.EndedAt
	} else {
		r.End(end.status, end.cause, time.Now().UTC())
	}
	if r.Total == nil {
		below, err := rec.index.Below(ctx, r.Path)
		if err != nil {
			return err
		}
		r.Total = new(r.Own().Add(below))
	}
	r.EndedBy = bootID
	rev, err := rec.index.Update(ctx, r, o.Rev)
	if err != nil {
		return err
	}
	if rec.beforeEnd != nil {
		rec.beforeEnd(r.ID)
	}
	err = rec.publishEnd(ctx, state, r, pending)
	if errors.Is(err, eventbus.ErrEnded) { // its own process was alive, or another one took it for dead
		if state, err = rec.index.State(ctx, o.Path); err == nil {
			r = state.RecordOr(r)
		}
		if err == nil && !r.Closed { // and has resumed it
			err = fmt.Errorf("ending session %s: %w", r.ID, index.ErrConflict)
		}
	}
	if err != nil {
		return err
	}
	if rec.Ended != nil {
		rec.Ended(r)
	}
	r.Closed = true
	_, err = rec.index.Update(ctx, r, rev)
	return err
}

// unbegun reports whether nothing of a session below another one is stored, and nothing can
// be stored any more. That is so if the parent has ended, or another process ends or
// resumes it: then the store refuses what the session's own process has sent. A detached
// session does not depend on its parent.
func (rec *Recovery) unbegun(ctx context.Context, o index.Stored, state *log.State, bootID string) (bool, error) {
	if state.Opened || state.Started || len(o.Path) == 1 || o.Detached {
		return false, nil
	}
	above, err := rec.index.State(ctx, o.Path[:len(o.Path)-1])
	if err != nil || !above.Opened {
		return false, err
	}
	r := above.Record
	return r.Closed || r.BootID != o.BootID || o.BootID == bootID && above.Fenced, nil
}

// ending is how a session ends when another process ends it.
type ending struct {
	status record.Status
	cause  error
}

// interrupted is the ending of a session whose process has exited. why is the reason why
// nobody resumes it; nil means nobody would.
func interrupted(why error) ending {
	cause := errors.New("its process ended while it ran")
	if why != nil {
		cause = fmt.Errorf("%w, and no other process resumes it: %w", cause, why)
	}
	return ending{record.Interrupted, cause}
}

// endOf returns how a session ends whose process has exited. That of a caller whose subagents
// have all ended has lost nothing.
func (rec *Recovery) endOf(ctx context.Context, o index.Stored, why error) (ending, error) {
	if o.Agent != "" || o.Depth > 0 {
		return interrupted(why), nil
	}
	status, err := rec.index.CallerEnd(ctx, o.Path)
	if err != nil || status == record.Interrupted {
		return interrupted(why), err
	}
	return ending{status, nil}, nil
}

// own stores the record of a claimed session and returns its revision. It prevails over
// what the old process may still have stored.
func (rec *Recovery) own(ctx context.Context, o index.Stored, r *record.Record) (rev uint64, err error) {
	for tries := 3; ; tries-- {
		if rev, err = rec.index.Update(ctx, r, o.Rev); tries == 0 || !errors.Is(err, index.ErrConflict) {
			return rev, err
		}
		if _, o.Rev, err = rec.index.Read(ctx, o.ID); err != nil {
			return 0, err
		}
	}
}
