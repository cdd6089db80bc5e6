package eventbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

const (
	// fanOutQueue is how many new events may wait for a live reader. One with more
	// continues from the recent events, or from the store.
	fanOutQueue = 64

	// fanOutBytes bounds the same in bytes.
	fanOutBytes = 1 << 20

	// fanOutLinger is how long new events are read without a live reader, so that
	// calls in a row don't begin anew each.
	fanOutLinger = 30 * time.Second
)

// fanOut reads the new events of a workspace once for all live readers in this process, and
// keeps recent ones for new readers. A reader costs it a queue. It runs from the first reader
// on, until there has been none for a while.
type fanOut struct {
	ctx    context.Context // ends with the bus
	reader reader
	events jetstream.Stream
	prefix string // of all subjects; a session's path follows
	linger time.Duration

	starting chan struct{} // has a value while one starts it; unlike a mutex a context ends the wait

	mu     sync.Mutex
	queues map[string][]*queue // by the subject of the session; the readers that get new events
	recent recent              // while it runs
	live   int                 // readers
	idle   time.Time           // since when there are none
	stop   context.CancelFunc  // of run; nil means it does not run
	closed bool
	runs   sync.WaitGroup
}

func newFanOut(ctx context.Context, reader reader, events jetstream.Stream, prefix string) *fanOut {
	return &fanOut{
		ctx: ctx, reader: reader, events: events, prefix: prefix, linger: fanOutLinger,
		starting: make(chan struct{}, 1), queues: make(map[string][]*queue),
	}
}

// queue has the events that wait for a live reader. The fan-out's mutex guards them.
type queue struct {
	fanOut  *fanOut
	subject string        // of the session
	wake    chan struct{} // has a value if something has changed
	events  []*stored
	bytes   int   // of events
	cut     bool  // nothing is added any more: the reader is to continue elsewhere
	err     error // why there is no elsewhere

	// The reader's own.
	from    uint64                      // the next sequence number
	deliver func(*stored) (bool, error) // false: no more is wanted
	spare   []*stored                   // memory for the next events
}

// signal wakes the reader. The caller holds the fan-out's mutex.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// follow delivers the events below subject from a sequence number on, as they are
// stored, until ctx ends or deliver wants no more. While the store is away it waits. It is in
// parts for the sake of many readers that wait: a stack of which less than 1,248 bytes are in
// use shrinks to 4 KiB.
func (f *fanOut) follow(ctx context.Context, subject string, from uint64, deliver func(*stored) (bool, error)) error {
	q := &queue{fanOut: f, subject: subject, wake: make(chan struct{}, 1), from: from, deliver: deliver}
	f.enter()
	defer f.leave(q)
	for {
		more, err := q.catchUp(ctx)
		if err == nil && more {
			more, err = q.take(ctx)
		}
		switch {
		case errors.Is(err, natsstore.ErrAway) && ctx.Err() == nil:
			f.part(q)
		case err != nil || !more:
			return err
		}
	}
}

// part removes a reader until it joins again.
func (f *fanOut) part(q *queue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(q)
}

// catchUp joins, and delivers what the queue lacks.
func (q *queue) catchUp(ctx context.Context) (more bool, err error) {
	f := q.fanOut
	older, err := f.join(ctx, q, q.from)
	if err != nil {
		return false, fmt.Errorf("waiting for new events: %w", err)
	}
	if older == 0 {
		return true, nil
	}
	return f.reader.replay(ctx, f.events, []string{q.subject + ".>"}, q.from, older, q.once)
}

// take delivers what comes until the queue is cut.
func (q *queue) take(ctx context.Context) (more bool, err error) {
	for {
		if done, more, err := q.empty(ctx); done {
			return more, err
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// empty delivers what is in the queue. It is done if there is nothing to add there.
func (q *queue) empty(ctx context.Context) (done, more bool, err error) {
	q.fanOut.mu.Lock()
	events := q.events
	q.events, q.bytes, q.spare = q.spare[:0], 0, events
	cut, why := q.cut, q.err
	q.fanOut.mu.Unlock()
	for _, ev := range events {
		if ctx.Err() != nil {
			return true, false, context.Cause(ctx)
		}
		if more, err := q.once(ev); err != nil || !more {
			return true, false, err
		}
	}
	if clear(events); cap(events) > fanOutQueue {
		q.spare = nil
	}
	return cut, cut && why == nil, why
}

// once delivers an event that was not delivered yet.
func (q *queue) once(ev *stored) (more bool, err error) {
	if ev.Seq < q.from {
		return true, nil // it was in the store and in the queue
	}
	if more, err = q.deliver(ev); err == nil {
		q.from = ev.Seq + 1
	}
	return more, err
}

// join has a reader get what is stored below its subject from now on in its queue,
// and before it what it lacks of the recent events. Older ones it is to read from
// the store, up to a sequence number; 0 means there are none. The queue is cut if it is
// full, or if the store is lost.
func (f *fanOut) join(ctx context.Context, q *queue, from uint64) (older uint64, err error) {
	for {
		f.mu.Lock()
		if f.stop != nil {
			break
		}
		f.mu.Unlock()
		if err := f.start(ctx); err != nil {
			return 0, err
		}
	}
	defer f.mu.Unlock()
	q.cut, q.err = false, nil
	f.queues[q.subject] = append(f.queues[q.subject], q)
	events, ok := f.recent.below(q.subject, from)
	q.events = append(q.events[:0], events...)
	if len(events) > 0 {
		q.signal()
	}
	if !ok {
		older = f.recent.last
	}
	return older, nil
}

// enter counts a reader. It wants leave.
func (f *fanOut) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live++
}

func (f *fanOut) leave(q *queue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(q)
	if f.live--; f.live == 0 {
		f.idle = time.Now()
	}
}

// remove removes a queue if it is there. The caller holds f.mu.
func (f *fanOut) remove(q *queue) {
	queues := f.queues[q.subject]
	i := slices.Index(queues, q)
	if i < 0 {
		return
	}
	if len(queues) == 1 {
		delete(f.queues, q.subject)
		return
	}
	f.queues[q.subject] = slices.Delete(queues, i, i+1)
}

// begin notes that nothing is stored yet of a session with a subject: its first
// readers need not ask the store.
func (f *fanOut) begin(subject string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.recent.begin(subject)
	}
}

// forget drops the recent events below subject, which have been deleted.
func (f *fanOut) forget(subject string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent.forget(subject)
}

// distribute gives an event to the readers of its session and of those above it.
func (f *fanOut) distribute(ctx context.Context, ev *stored) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil { // another run may have taken over
		return
	}
	if strings.HasPrefix(ev.Subject[len(f.prefix):], logPrefix) { // no event
		f.recent.last = ev.Seq
		return
	}
	f.recent.add(ev)
	f.offer(f.prefix[:len(f.prefix)-1], ev) // who follows all of them
	for at := len(f.prefix); ; at++ {
		dot := strings.IndexByte(ev.Subject[at:], '.')
		if dot < 0 {
			return // the type is left
		}
		at += dot
		f.offer(ev.Subject[:at], ev)
	}
}

// logPrefix begins the subjects of what is not for readers, behind the fan-out's
// own prefix: see [Bus.logSubject].
const logPrefix = "log."

// offer adds an event to the queues of a session. The caller holds f.mu.
func (f *fanOut) offer(subject string, ev *stored) {
	queues := f.queues[subject]
	if len(queues) == 0 {
		return
	}
	queues = slices.DeleteFunc(queues, func(q *queue) bool {
		q.events = append(q.events, ev)
		q.bytes += len(ev.Data)
		q.cut = len(q.events) >= fanOutQueue || q.bytes >= fanOutBytes
		q.signal()
		return q.cut
	})
	if len(queues) == 0 {
		delete(f.queues, subject)
		return
	}
	f.queues[subject] = queues
}

// start begins to read after what is stored at this moment, if nobody else has.
func (f *fanOut) start(ctx context.Context) error {
	select {
	case f.starting <- struct{}{}:
		defer func() { <-f.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	if f.running() {
		return nil
	}
	last, err := newest(ctx, f.events)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return natsstore.ErrClosed
	}
	running, stop := context.WithCancel(f.ctx)
	f.stop = stop
	f.recent.reset(last)
	f.runs.Go(func() {
		f.end(running, f.reader.tail(running, f.events, f.prefix+">", last+1, func(ev *stored) { f.distribute(running, ev) }))
	})
	f.runs.Go(func() { f.stopIdle(running) })
	return nil
}

func (f *fanOut) running() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stop != nil
}

// stopIdle ends a run once there has been no reader for a while.
func (f *fanOut) stopIdle(running context.Context) {
	for left := f.linger; left > 0; {
		select {
		case <-time.After(left):
		case <-running.Done():
			return
		}
		f.mu.Lock()
		if left = f.linger; f.live == 0 {
			left -= time.Since(f.idle)
		}
		if left <= 0 && running.Err() == nil {
			f.halt()
		}
		f.mu.Unlock()
	}
}

// halt ends the run. The caller holds f.mu.
func (f *fanOut) halt() {
	f.stop()
	f.stop = nil
	f.recent.reset(0)
}

// end tells the readers that a run has ended, unless it was for want of them.
func (f *fanOut) end(running context.Context, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if running.Err() != nil && f.ctx.Err() == nil {
		return
	}
	if f.ctx.Err() != nil {
		why = context.Cause(f.ctx)
	}
	for _, queues := range f.queues {
		for _, q := range queues {
			q.cut, q.err = true, why
			q.signal()
		}
	}
	clear(f.queues)
	if f.stop != nil {
		f.halt()
	}
}

// wait waits until nothing runs. f.ctx must have ended.
func (f *fanOut) wait() {
	f.mu.Lock()
	f.closed = true // nothing begins any more
	f.mu.Unlock()
	f.runs.Wait()
}
