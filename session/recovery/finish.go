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

// claim is finish, also where the record of the session has changed meanwhile and
// nobody else ends it, or goes on with it: its process may have written what it still had
// to.
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

// finish takes a session through what is left of its end, as its log says. Of
// several processes one does, the others get errConflict; so does this one where another
// has taken the session over meanwhile. end is how it ends if its log does not say.
func (rec *Recovery) finish(ctx context.Context, o index.Stored, bootID string, pending []*approval.Approval, end ending) error {
	state, err := rec.index.State(ctx, o.Path)
	if err != nil {
		return err
	}
	r := state.RecordOr(o.Record)
	if r.Closed { // its record alone is behind
		_, err := rec.index.Update(ctx, r, o.Rev)
		return err
	}
	if r.Takeovers > 0 && r.BootID != o.BootID && r.BootID != bootID { // another process goes on with it, and its record does not say so yet
		_, err := rec.own(ctx, o, r)
		return errors.Join(fmt.Errorf("ending session %s: %w", r.ID, index.ErrConflict), err)
	}
	if lost, err := rec.unbegun(ctx, o, state, bootID); lost || err != nil {
		if err == nil {
			err = rec.index.Remove(ctx, r)
		}
		return err
	}
	if o.Status.Ended() { // and its session_end was not stored
		r.Status, r.Error, r.EndedAt = o.Status, o.Error, o.EndedAt
	} else {
		r.End(end.status, end.cause, time.Now().UTC())
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
	if errors.Is(err, eventbus.ErrEnded) { // its own process was not gone, or another has taken it for gone
		if state, err = rec.index.State(ctx, o.Path); err == nil {
			r = state.RecordOr(r)
		}
		if err == nil && !r.Closed { // and goes on with it
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

// unbegun reports whether nothing of a session below another one is stored, and nothing may
// be: the one above has ended, or another process ends it, or goes on with it, and what its
// own process has sent is refused. A detached one stands for itself.
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

// ending is how a session ends in place of its process.
type ending struct {
	status record.Status
	cause  error
}

// interrupted is the ending of a session whose process has gone. why is the reason why it
// is not gone on with; nil means nobody would.
func interrupted(why error) ending {
	cause := errors.New("its process ended while it ran")
	if why != nil {
		cause = fmt.Errorf("%w, and no other goes on with it: %w", cause, why)
	}
	return ending{record.Interrupted, cause}
}
