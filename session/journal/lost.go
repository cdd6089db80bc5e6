package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/record"
)

// ClaimedError says that another process has ended or resumed the session, because this process
// seemed to have died. It is a [record.ErrEnded].
type ClaimedError struct {
	SessionID  string
	Status     record.Status // with which it was ended; any other status means that it was resumed
	HandedOver bool          // this process ends, and has left it to another
	Silent     time.Duration // for how long this process has given no sign of life, at least
}

func (e *ClaimedError) Error() string {
	if e.HandedOver {
		return fmt.Sprintf("session %s goes on in the next worker, since this one ends", e.SessionID)
	}
	what := "is " + string(e.Status) + ": another process has ended it"
	switch {
	case e.Status == record.Cancelled:
		return fmt.Sprintf("session %s was stopped, and ended in place of this process, which did not end it in time", e.SessionID)
	case !e.Status.Ended():
		what = "is another process's now, which goes on with it"
	}
	return fmt.Sprintf("session %s %s, since this one gave no sign of life for %s or more (stopped, asleep, or cut off from the event store)", e.SessionID, what, e.Silent)
}

// Is reports whether target is [record.ErrEnded].
func (e *ClaimedError) Is(target error) bool { return target == record.ErrEnded }

// HandOver leaves sessions to the next process that resumes sessions: nothing more of them is
// published, and what runs of them ends. It returns those that had not ended.
func HandOver(all []*Journal) (left []*Journal) {
	for _, j := range all { // all of them before any of them ends
		j.mu.Lock()
		if !j.record.Closed && !j.claimed.Swap(true) {
			j.handedOver, j.broken = true, &ClaimedError{SessionID: j.ID, HandedOver: true}
			left = append(left, j)
		}
		j.mu.Unlock()
	}
	for _, j := range left {
		j.life.CancelTurn(j.broken)
		j.life.End(j.broken)
	}
	return left
}

// HandedOver reports whether the session was handed over.
func (j *Journal) HandedOver() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.handedOver
}

// Lost is a session that this process does not run any more, and whose end it does not know
// to be stored.
type Lost struct {
	*Journal
	stream  *eventbus.Publisher // what is on its way there may still end the session; nil means nothing is
	claimed bool                // another process has claimed the session, and may not have ended it
}

// Settled reports whether nothing of the session is on its way to the store any more.
func (l Lost) Settled() bool { return l.stream == nil || l.stream.Err() != nil }

// End returns what this process knows of the session's end.
func (l Lost) End() *record.Record {
	if l.claimed {
		return new(record.Record)
	}
	r := l.Record()
	return &r
}

// Lose stops a session that another process has ended, as r says: nothing more of it is
// published. It returns the [ClaimedError].
func (j *Journal) Lose(r *record.Record) error {
	err := &ClaimedError{SessionID: j.ID, Status: r.Status, Silent: j.p.Keeper.Duration()}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.record.Closed || j.claimed.Swap(true) {
		return err
	}
	j.p.Log.Warn("a session is stopped: another process has ended it", "session", j.ID, "status", r.Status)
	j.record, j.broken = *r, err
	j.p.Lost(Lost{Journal: j, claimed: true})
	j.life.CancelTurn(err)
	j.life.End(err)
	return err
}

// LoseTo is Lose where nobody knows the record that the other process stores: it ends the
// session as status.
func (j *Journal) LoseTo(status record.Status) {
	r := j.Record()
	r.Status = status
	_ = j.Lose(&r) // whoever runs the session gets the error
}

// LoseIfClaimed looks whether another process has ended the session.
func (j *Journal) LoseIfClaimed(ctx context.Context) error {
	r, err := j.p.Store.Index.ClaimedFrom(ctx, j.ID, j.p.BootID)
	if err == nil && r != nil {
		_ = j.Lose(r) // whoever runs the session gets the error
	}
	return err
}

// loseToOther takes over the end that another process has given the session.
func (j *Journal) loseToOther(ctx context.Context) error {
	state, err := j.p.Store.Index.State(ctx, j.Path)
	if err != nil {
		return errors.Join(record.ErrEnded, err)
	}
	if state.Record.ID == "" { // it could not begin: another process ends the session above
		state.Record = j.Record()
		state.Record.Status = record.Interrupted
	}
	return j.Lose(&state.Record)
}

// owner is a journal as the owner of its record in the index.
type owner struct{ j *Journal }

// Claimed implements [index.Owner].
func (o owner) Claimed(r *record.Record) { _ = o.j.Lose(r) }

// Unstored implements [index.Owner].
func (o owner) Unstored(err error) { o.j.Fail(err) }
