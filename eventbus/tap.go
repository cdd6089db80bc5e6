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
)

// tapQueue is how many new events a follower may have before it. One that has
// more reads on from the store.
const tapQueue = 64

// stored is an event as it is in the store: in the root's view. It is shared by
// those who follow it, and not to be changed.
type stored struct {
	seq  uint64
	time time.Time
	data []byte
}

// tap reads what is new in a workspace's events, once for all followers of this
// process. A follower costs it a queue; it runs while there is one.
//
// In the embedded store everyone reads what is stored; behind an external
// cluster, where a reader may be at a server that is not up to date, each
// follower has a consumer of its own.
type tap struct {
	bus    *Bus
	prefix string // of all subjects; what follows is a session's path

	mu        sync.Mutex
	followers map[string][]chan *stored // by the subject of the session
	stop      context.CancelFunc        // of run; nil: it does not run
	runs      sync.WaitGroup
}

func newTap(b *Bus) *tap {
	return &tap{bus: b, prefix: "agents.v1." + b.workspace + ".events.", followers: make(map[string][]chan *stored)}
}

// join returns the events of the session with a subject, and of those below it,
// that are stored from now on. The channel is closed where it is full and no more
// fits, or the store is lost: who wants the rest reads the store. It wants leave.
func (t *tap) join(ctx context.Context, subject string) (chan *stored, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil {
		if err := t.start(ctx); err != nil {
			return nil, err
		}
	}
	queue := make(chan *stored, tapQueue)
	t.followers[subject] = append(t.followers[subject], queue)
	return queue, nil
}

// leave takes a queue back, closed or not. Without one the tap stops.
func (t *tap) leave(subject string, queue chan *stored) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(subject, func(q chan *stored) bool { return q != queue })
	if len(t.followers) == 0 && t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// keep drops the queues of a subject that are not to stay. The caller holds t.mu.
func (t *tap) keep(subject string, stays func(chan *stored) bool) {
	queues, ok := t.followers[subject]
	if !ok {
		return
	}
	queues = slices.DeleteFunc(queues, func(q chan *stored) bool { return !stays(q) })
	if len(queues) == 0 {
		delete(t.followers, subject)
		return
	}
	t.followers[subject] = queues
}

// start begins to read behind what is stored at this moment. The caller holds
// t.mu.
func (t *tap) start(ctx context.Context) error {
	newest, err := t.bus.Newest(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(t.bus.ctx)
	messages, err := t.read(running, newest+1)
	if err != nil {
		stop()
		return err
	}
	t.stop = stop
	t.runs.Go(func() {
		t.run(running, messages)
		messages.Stop()
		t.end(running)
	})
	return nil
}

// read returns the messages from a sequence number on, until ctx ends.
func (t *tap) read(ctx context.Context, from uint64) (jetstream.MessagesContext, error) {
	consumer, err := t.bus.events.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{t.prefix + ">"},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    from,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Messages()
}

// run hands out what comes until ctx or the messages end.
func (t *tap) run(ctx context.Context, messages jetstream.MessagesContext) {
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return
		}
		meta, err := msg.Metadata()
		if err != nil {
			return
		}
		t.hand(ctx, msg.Subject(), &stored{meta.Sequence.Stream, meta.Timestamp, msg.Data()})
	}
}

// hand gives an event to those who follow its session or one above it.
func (t *tap) hand(ctx context.Context, subject string, ev *stored) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil { // another run is at it
		return
	}
	for at := len(t.prefix); ; at++ {
		dot := strings.IndexByte(subject[at:], '.')
		if dot < 0 {
			return // what is left is the type
		}
		at += dot
		t.keep(subject[:at], func(queue chan *stored) bool {
			select {
			case queue <- ev:
				return true
			default:
				close(queue)
				return false
			}
		})
	}
}

// end closes all queues where the run that ends is the last one begun.
func (t *tap) end(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil && t.bus.ctx.Err() == nil { // nobody was left
		return
	}
	for subject, queues := range t.followers {
		for _, queue := range queues {
			close(queue)
		}
		delete(t.followers, subject)
	}
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// follow yields the events below subject from a sequence number on, as they are
// stored, until ctx ends or more says that it is enough.
func (t *tap) follow(ctx context.Context, subject string, from uint64, more func(*stored) (bool, error)) error {
	deliver := func(ev *stored) (bool, error) {
		if ev.seq < from {
			return true, nil // in the store and in the queue
		}
		from = ev.seq + 1
		return more(ev)
	}
	for {
		on, err := t.pass(ctx, subject, &from, deliver)
		if err != nil || !on {
			return err
		}
	}
}

// pass yields what is stored, and then what is new for as long as that fits in
// the queue.
func (t *tap) pass(ctx context.Context, subject string, from *uint64, deliver func(*stored) (bool, error)) (on bool, err error) {
	queue, err := t.join(ctx, subject)
	if err != nil {
		return false, fmt.Errorf("waiting for new events: %w", err)
	}
	defer t.leave(subject, queue)
	// What comes from here on is in the queue.
	if on, err = t.bus.replay(ctx, t.bus.events, subject+".>", *from, deliver); err != nil || !on {
		return on, err
	}
	for {
		select {
		case ev, ok := <-queue:
			if !ok {
				if t.bus.ctx.Err() != nil {
					return false, errClosed
				}
				return true, nil
			}
			if on, err := deliver(ev); err != nil || !on {
				return on, err
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// close waits until nothing runs. The bus's context has ended.
func (t *tap) close() { t.runs.Wait() }

var errClosed = errors.New("the connection to the event store was closed")
