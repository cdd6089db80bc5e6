package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// BeginEnd reserves the end of the session for the caller. A session ends once: later calls
// return [record.ErrEnded].
func (j *Journal) BeginEnd() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ending {
		return fmt.Errorf("session %s: %w", j.ID, record.ErrEnded)
	}
	j.ending = true
	return nil
}

// End publishes how the session ended, and returns when that is stored with everything
// before. acts says that the session's tools could have changed something. If events could
// not be stored, the session has failed whatever status says, and End returns why. The same
// error comes if the end is not stored in time, though it may be stored later.
func (j *Journal) End(status record.Status, why error, acts bool) error {
	incomplete := j.endAs(status, why, acts)
	if incomplete == nil || errors.Is(incomplete, record.ErrEnded) {
		return incomplete
	}
	j.Fail(incomplete)
	p := j.publisher()
	if p.Err() == nil { // all of it is on its way, and nothing is lost
		j.leave()
		return incomplete
	}
	if status == record.Completed {
		status, why = record.Failed, incomplete
	}
	if err := j.endAgain(p.Stored(), status, why, acts); err != nil {
		// A sweep of this process will find that the end is missing, and store it when the
		// store has room. If this process dies, another one does so.
		j.leave()
		j.Index()
		return errors.Join(incomplete, err)
	}
	return incomplete
}

// EndLater leaves the session's end to the sweeps, with that of the sessions below it.
func (j *Journal) EndLater(status record.Status, why error) {
	j.setEnd(status, why)
	j.Index()
	j.p.Lost(Lost{Journal: j})
}

// leave leaves the session to the sweeps. They end it when the store allows it and what is on
// its way is stored, or given up.
func (j *Journal) leave() { j.p.Lost(Lost{Journal: j, stream: j.publisher()}) }

// Answered notes why the last turn gave its answer; empty means that it gave none. Others see
// it with the next change of the record.
func (j *Journal) Answered(why event.StopReason) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.StopReason = why
}

func (j *Journal) setEnd(status record.Status, why error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.End(status, why, time.Now().UTC())
}

// opening is among how many entries at the start of a log its session_start is.
const opening = 3

// endAgain ends a session whose stream the store has failed. So many entries are known to be
// stored; there may be more.
func (j *Journal) endAgain(stored uint64, status record.Status, why error, acts bool) error {
	j.mu.Lock()
	j.shown = "" // it may be among what was not stored
	j.mu.Unlock()
	if stored < opening {
		if err := j.started(); err != nil { // the sweep begins it before it ends it
			j.setEnd(status, why)
			return err
		}
	}
	ctx, cancel := j.StoreContext()
	defer cancel()
	// Nothing more is stored of what the stream before has published.
	boot := j.p.Keeper.BootID()
	err := j.setStream(j.p.Bus.Take(ctx, j.Path, j.publisher().Fence(), boot, boot))
	switch {
	case errors.Is(err, eventbus.ErrEnded):
		return j.loseToOther(ctx)
	case err != nil:
		return err
	}
	return j.endAs(status, why, acts)
}

// started returns an error unless the session's session_start is stored.
func (j *Journal) started() error {
	ctx, cancel := j.StoreContext()
	defer cancel()
	state, err := j.p.Store.Index.State(ctx, j.Path)
	if err == nil && !state.Started {
		err = fmt.Errorf("nothing is stored of session %s", j.ID)
	}
	return err
}

// endAs ends the session in one wait, for its session_end. The store has that event behind
// everything that is on its way. If two processes end a session, the first session_end
// wins, and the other process gets [record.ErrEnded].
func (j *Journal) endAs(status record.Status, why error, acts bool) error {
	if j.claimed.Load() {
		return &ClaimedError{j.ID, j.Record().Status, j.HandedOver(), j.p.Keeper.Duration()}
	}
	j.setEnd(status, why)
	j.mu.Lock()
	j.record.Work.Idle = status == record.Completed && j.parent != nil && j.record.Work.ToolCalls == 0 && acts
	ended := log.EndedEntry(&j.record)
	j.mu.Unlock()
	switch status {
	case record.Failed, record.TimedOut:
		j.Status(event.StatusError)
		j.Publish(errorEvent(status, why))
	case record.Cancelled, record.Interrupted:
		j.Status(event.StatusAborted)
	}
	j.Append(ended)
	ctx, cancel := j.StoreContext()
	defer cancel()
	err := j.publisher().End(ctx, event.SessionEnd{Status: status, StopReason: j.Record().StopReason})
	switch {
	case errors.Is(err, eventbus.ErrEnded):
		return j.loseToOther(ctx)
	case err != nil:
		return err
	}
	j.mu.Lock()
	j.record.Closed = true
	j.mu.Unlock()
	j.Index()
	return nil
}

func errorEvent(status record.Status, why error) event.Error {
	ev := event.Error{Code: string(status), Message: string(status)}
	if why != nil {
		ev.Message = errtext.Of(why)
	}
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](why); ok {
		ev.Code = coded.ErrorCode()
	}
	if failed, ok := errors.AsType[*model.Error](why); ok {
		ev.Code = "model_" + string(failed.Kind)
	}
	return ev
}
