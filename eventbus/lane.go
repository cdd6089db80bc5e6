package eventbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// laneRetry is how often a lost lane is tried to be replaced, and the shortest
// time between two.
const laneRetry = 10 * time.Millisecond

// lane is a connection for publishing that is never mended. What is sent on it
// arrives in the order of sending, and up to some point at which it ends:
// without a hole. So after its end a publisher finds out how far it got, and
// goes on from there on the next lane.
type lane struct {
	conn *nats.Conn
	js   jetstream.JetStream
	gone chan struct{} // closed at its end

	mu    sync.Mutex
	users map[*Publisher]struct{}
}

// lanes makes sure that there is one lane.
type lanes struct {
	turn chan struct{} // has a value while somebody opens one, and for good once stop is done
	stop sync.Once

	mu     sync.Mutex
	now    *lane // nil: none has been needed yet
	opened time.Time
	closed bool
	mends  sync.WaitGroup
}

// lane returns the lane to publish on, and waits for the store until ctx ends
// if it is away.
func (b *Bus) lane(ctx context.Context) (*lane, error) {
	err := errors.New("it was lost just now")
	select {
	case b.lanes.turn <- struct{}{}:
		defer func() { <-b.lanes.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: connecting to the event store: %w", context.Cause(ctx), err)
	case <-b.ctx.Done():
		return nil, context.Cause(b.ctx)
	}
	for {
		now, opened := b.lanes.last()
		if now != nil && !now.ended() {
			return now, nil
		}
		if time.Since(opened) >= laneRetry && ctx.Err() == nil {
			var l *lane
			if l, err = b.openLane(); err == nil {
				b.lanes.put(l)
				return l, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: connecting to the event store: %w", context.Cause(ctx), err)
		case <-b.ctx.Done():
			return nil, context.Cause(b.ctx)
		case <-time.After(laneRetry):
		}
	}
}

// last returns the lane that was opened last, if any, and when.
func (l *lanes) last() (*lane, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.opened
}

func (l *lanes) put(next *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.opened = next, time.Now()
}

func (b *Bus) openLane() (*lane, error) {
	l := &lane{gone: make(chan struct{}), users: make(map[*Publisher]struct{})}
	opts := append(b.dial(), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) {
		close(l.gone)
		b.replace(l)
	}))
	conn, err := nats.Connect(b.address, opts...)
	if err != nil {
		return nil, explainConnect(err)
	}
	l.conn = conn
	jsOpts := []jetstream.JetStreamOpt{
		jetstream.WithPublishAsyncMaxPending(maxPendingTotal),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) {
			if b.away(err) { // whatever comes behind would leave a hole
				l.end()
			}
		}),
	}
	if !b.Embedded() { // the leader of the stream may be lost, and what it had with it
		jsOpts = append(jsOpts, jetstream.WithPublishAsyncTimeout(attemptWait))
	}
	l.js, err = jetstream.New(conn, jsOpts...)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

func (l *lane) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
		return l.conn.IsClosed()
	}
}

func (l *lane) end() { l.conn.Close() }

// join notes that p has events on the lane; leave, that it has no more.
func (l *lane) join(p *Publisher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[p] = struct{}{}
}

func (l *lane) leave(p *Publisher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.users, p)
}

// replace lets the publishers of an ended lane go on on the next one, also
// those that nobody calls at the moment.
func (b *Bus) replace(l *lane) {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	if b.lanes.closed {
		return
	}
	b.lanes.mends.Go(func() {
		l.mu.Lock()
		users := slices.Collect(maps.Keys(l.users))
		l.mu.Unlock()
		for _, p := range users {
			p.goOn(b.ctx)
		}
	})
}

// closeLanes ends the lane for good. The bus's context has ended.
func (b *Bus) closeLanes() {
	b.lanes.stop.Do(func() { b.lanes.turn <- struct{}{} }) // nobody opens one any more
	b.lanes.mu.Lock()
	b.lanes.closed = true
	now := b.lanes.now
	b.lanes.mu.Unlock()
	if now != nil {
		now.end()
		<-now.gone
	}
	b.lanes.mends.Wait()
}
