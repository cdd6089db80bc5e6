// Package journal writes the logs of sessions that run in this process: events and entries,
// in their order, without waiting. It keeps each session's record in step with its log.
package journal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Process is what the journals of a process share. Its fields do not change.
type Process struct {
	Bus    *eventbus.Bus
	Store  *store.Store
	Index  *index.Writer
	Keeper *lease.Keeper
	BootID string
	Log    *slog.Logger

	// Lost takes a session that this process does not run any more, and whose end it does
	// not know to be stored.
	Lost func(Lost)
}

// Journal is the log of a session, as its process writes it, and the record that says what is
// in it. The first error of the store ends the session's work: nothing more can be stored.
//
// It is safe for concurrent use. Lock mu guards the record and the stream, and is never held
// while anything is published. Lock order is held before it, so that what is noted in the
// record is noted in the order of the log.
type Journal struct {
	ID   string
	Path event.Path // from the root to this session

	p      *Process
	parent *Journal // nil means the session is a root
	life   *lifetime.Life

	order      sync.Mutex
	handedOver bool // to the next process that resumes sessions; guarded by mu

	claimed atomic.Bool // another process has ended the session, or resumed it

	mu     sync.Mutex
	stream *eventbus.Publisher // nil means nothing is published yet
	record record.Record
	shown  event.Status // the last status that was published
	ending bool         // End has been called
	broken error        // why nothing more can be stored
}

// New returns the journal of a session with this record. Nothing is stored before
// [Journal.Begin] or [Journal.Continue].
func New(p *Process, parent *Journal, life *lifetime.Life, record record.Record) *Journal {
	return &Journal{ID: record.ID, Path: record.Path, p: p, parent: parent, life: life, record: record}
}

// Begin gives a new session its stream. The session above has not begun to end in another
// process.
func (j *Journal) Begin() error {
	if j.parent == nil {
		return j.setStream(j.p.Bus.Publisher(j.Path))
	}
	return j.setStream(j.p.Bus.Opener(j.Path, j.parent.publisher()))
}

// Continue gives the stream of a session that this process has claimed.
func (j *Journal) Continue(p *eventbus.Publisher) { _ = j.setStream(p, nil) }

// Close makes the journal that of a session which has ended elsewhere.
func (j *Journal) Close() { j.ending = true }

func (j *Journal) setStream(p *eventbus.Publisher, err error) error {
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stream = p
	return nil
}

func (j *Journal) publisher() *eventbus.Publisher {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stream
}

// Root returns the journal of the session at the top.
func (j *Journal) Root() *Journal {
	for j.parent != nil {
		j = j.parent
	}
	return j
}

// Shown returns the status that was published last.
func (j *Journal) Shown() event.Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shown
}

// Status publishes what the session does now, unless it did that before.
func (j *Journal) Status(status event.Status) {
	j.mu.Lock()
	same := j.shown == status
	j.shown = status
	j.mu.Unlock()
	if !same {
		j.Publish(event.StatusChange{Status: status})
	}
}

// Publish hands an event to the stream, masked. Whoever resumes the session needs some events
// unmasked: these go to the log as entries.
func (j *Journal) Publish(ev event.Event) {
	j.p.Keeper.Assure(j.life.Context()) // somebody may have ended the session meanwhile
	if j.claimed.Load() {
		return // its last event is stored
	}
	if _, stalled := ev.(event.Stalled); !stalled {
		j.life.Heard()
	}
	shown, differs := masking.Event(ev)
	if differs {
		if unmasked, needed := log.UnmaskedEntry(ev); needed {
			j.Append(unmasked)
		}
	}
	j.Fail(j.publisher().Publish(j.life.Context(), shown))
}

// Append hands an entry that is no event to the stream.
func (j *Journal) Append(entry log.Entry) {
	if !j.claimed.Load() {
		j.Fail(entry.AppendTo(j.life.Context(), j.publisher()))
	}
}

// Fail notes an error of the store, after which the session can't work. It ignores nil, and
// errors which only say that the session has ended.
func (j *Journal) Fail(err error) {
	if err == nil || errors.Is(err, record.ErrEnded) {
		return
	}
	j.mu.Lock()
	if errors.Is(err, eventbus.ErrEnded) { // by this process, or the store refuses what follows another's end
		ending := j.ending
		j.mu.Unlock()
		if !ending {
			j.LoseTo(record.Interrupted)
		}
		return
	}
	defer j.mu.Unlock()
	if j.broken != nil {
		return
	}
	j.broken = err
	j.life.CancelTurn(err)
}

// Err returns why the session can't work any more; nil means it can.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken
}

// Flush waits until everything is stored that the session and those above it have
// published, or until ctx ends.
func (j *Journal) Flush(ctx context.Context) error {
	for at := j; at != nil; at = at.parent {
		stream := at.publisher()
		if stream == nil { // it has ended
			continue
		}
		err := stream.Flush(ctx)
		if at != j && errors.Is(err, eventbus.ErrEnded) { // it has ended, and j is detached
			continue
		}
		if err != nil {
			if stream.Err() != nil {
				at.Fail(err)
			}
			return err
		}
	}
	return nil
}

// FlushPatiently is Flush within [Journal.StoreContext].
func (j *Journal) FlushPatiently() error {
	ctx, cancel := j.StoreContext()
	defer cancel()
	return j.Flush(ctx)
}

// Settle publishes that the session waits for its next prompt. It returns the sequence number
// of that event once the event is stored, and with it everything published before. The
// session must not end meanwhile.
func (j *Journal) Settle(ctx context.Context) (seq uint64, err error) {
	j.Status(event.StatusIdle)
	if err := j.Flush(ctx); err != nil {
		return 0, err
	}
	last, err := j.p.Bus.Last(ctx, j.Path, event.StatusChange{}.Type())
	return last.Seq, err
}

// Storing runs f, which writes to the store even if the session is stopped. Where f fails,
// so has the session.
func (j *Journal) Storing(f func(context.Context) error) error {
	ctx, cancel := j.StoreContext()
	defer cancel()
	err := f(ctx)
	j.Fail(err)
	return err
}
