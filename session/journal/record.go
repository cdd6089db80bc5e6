package journal

import (
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Record returns a copy of the session's record.
func (j *Journal) Record() record.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record
}

// Agent returns the name of the session's agent; empty means that it is a caller's session.
func (j *Journal) Agent() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record.Agent
}

// Update changes the record, unless f fails. Others see the change a little later: see
// [index.Writer].
func (j *Journal) Update(f func(*record.Record) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.claimed.Load() {
		return &ClaimedError{j.ID, j.record.Status, j.handedOver, j.p.Keeper.Duration()}
	}
	next := j.record
	if err := f(&next); err != nil {
		return err
	}
	j.record = next
	if !j.ending { // then its end is written
		j.p.Index.Put(owner{j}, &next)
	}
	return nil
}

// Set is Update with what can't fail. It only returns a [ClaimedError], which the session's
// next step gets anyway.
func (j *Journal) Set(f func(*record.Record)) error {
	return j.Update(func(r *record.Record) error {
		f(r)
		return nil
	})
}

// Become changes the session's state.
func (j *Journal) Become(to record.Status) error {
	return j.Update(func(r *record.Record) error { return r.Transition(to, nil, time.Now().UTC()) })
}

// PublishNoted publishes an event and notes it in the record, in the order of the log. Others
// see the note with the next change of the record.
func (j *Journal) PublishNoted(ev event.Event, note func(*record.Record)) {
	j.order.Lock()
	defer j.order.Unlock()
	j.Publish(ev)
	j.mu.Lock()
	defer j.mu.Unlock()
	note(&j.record)
}

// Warn publishes a warning, and notes it in the record.
func (j *Journal) Warn(text string) {
	j.PublishNoted(event.Warning{Message: text}, func(r *record.Record) {
		r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], text)
	})
}

// Index has the current record written to the index.
func (j *Journal) Index() {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.record
	j.p.Index.Put(owner{j}, &r)
}

// Over returns an error if the session has ended, or one above with which it ends.
func (j *Journal) Over() error {
	for at := j; at != nil; at = at.parent {
		r := at.Record()
		if r.Status.Ended() {
			return fmt.Errorf("session %s is %s", at.ID, r.Status)
		}
		if r.Detached {
			return nil
		}
	}
	return nil
}
