package httpserver

import (
	"context"
	"sync"

	"github.com/agentworker/worker/eventbus"
)

// maxWaiting bounds what waits for a client, in bytes. One event may be larger: it
// waits alone.
const maxWaiting = 256 << 10

// queue has the events of a stream that a client has not taken. It is bounded by
// their size, not by their number: an event has from a hundred bytes up to a
// megabyte, and a client may leave a stream unread. Then the reader of the stream
// waits, too.
type queue struct {
	ready chan struct{} // has a value when events are there, or none will come
	room  chan struct{} // has a value when there may be room

	mu      sync.Mutex
	waiting []eventbus.Delivery
	bytes   int // of what waits, and of what was taken and is not written
	ended   bool
	err     error // of the end
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put adds an event as soon as there is room for it.
func (q *queue) put(ctx context.Context, d eventbus.Delivery) error {
	for !q.add(d) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	tell(q.ready)
	return nil
}

func (q *queue) add(d eventbus.Delivery) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes > 0 && q.bytes+len(d.Raw) > maxWaiting {
		return false
	}
	q.waiting = append(q.waiting, d)
	q.bytes += len(d.Raw)
	return true
}

// end says that no more events come, and why.
func (q *queue) end(err error) {
	q.mu.Lock()
	q.ended, q.err = true, err
	q.mu.Unlock()
	tell(q.ready)
}

// take returns the events that wait, and whether more may come. Call written
// once they are sent.
func (q *queue) take() (events []eventbus.Delivery, more bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	events, q.waiting = q.waiting, nil
	return events, !q.ended, q.err
}

// written makes room in place of events that take has returned.
func (q *queue) written(events []eventbus.Delivery) {
	q.mu.Lock()
	for _, d := range events {
		q.bytes -= len(d.Raw)
	}
	q.mu.Unlock()
	tell(q.room)
}

// tell leaves a value in a channel that has room for one.
func tell(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
