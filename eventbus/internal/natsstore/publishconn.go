package natsstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// PublishConn is a connection for publishing that is never reconnected. What is
// sent on it arrives in order, up to some point at which the connection ends:
// without a gap. So a publisher finds out after the end how far it got, and
// continues on the next publish connection. One subscription takes all answers.
type PublishConn struct {
	conn  *nats.Conn
	inbox string        // where all answers go, with a dot at its end
	name  string        // the ids of its batches begin with it
	gone  chan struct{} // closed when the connection ends

	mu      sync.Mutex
	onEnd   map[int]func(context.Context)
	calls   int               // of OnEnd
	batches map[string]*Batch // that wait for an answer
	count   uint64            // of batches, for their ids
}

// Gone returns a channel that is closed when the connection ends.
func (c *PublishConn) Gone() <-chan struct{} { return c.gone }

// Ended reports whether the connection has ended.
func (c *PublishConn) Ended() bool {
	select {
	case <-c.gone:
		return true
	default:
		return c.conn.IsClosed()
	}
}

// End ends the connection.
func (c *PublishConn) End() { c.conn.Close() }

// OnEnd has f called in a goroutine of the store when the connection ends, other
// than by [Store.Close], unless stop is called before. f's context ends with the
// store.
func (c *PublishConn) OnEnd(f func(context.Context)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls
	c.calls++
	c.onEnd[call] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.onEnd, call)
	}
}

// publishConns keeps one publish connection open.
type publishConns struct {
	target  *target
	retrier *retrier

	opening chan struct{} // has a value while one is being opened, and for good once stop is done
	stop    sync.Once

	mu     sync.Mutex
	last   *PublishConn // nil means none has been needed yet
	opened time.Time    // when last was
	closed bool
	calls  sync.WaitGroup // of what OnEnd was given
}

func newPublishConns(t *target, r *retrier) *publishConns {
	return &publishConns{target: t, retrier: r, opening: make(chan struct{}, 1)}
}

// get returns the connection to publish on. While the store is away it waits
// until ctx ends.
func (p *publishConns) get(ctx context.Context) (*PublishConn, error) {
	err := errors.New("it was lost just now")
	gaveUp := func() error {
		if ctx.Err() == nil {
			return context.Cause(p.retrier.closed)
		}
		return fmt.Errorf("%w: connecting to the event store: %w", context.Cause(ctx), err)
	}
	select {
	case p.opening <- struct{}{}:
		defer func() { <-p.opening }()
	case <-ctx.Done():
		return nil, gaveUp()
	case <-p.retrier.closed.Done():
		return nil, gaveUp()
	}
	for {
		p.mu.Lock()
		last, opened := p.last, p.opened
		p.mu.Unlock()
		if last != nil && !last.Ended() {
			return last, nil
		}
		if time.Since(opened) >= publishConnInterval && ctx.Err() == nil {
			var next *PublishConn
			if next, err = p.open(); err == nil {
				p.mu.Lock()
				p.last, p.opened = next, time.Now()
				p.mu.Unlock()
				return next, nil
			}
		}
		if !pause(ctx, p.retrier.closed, publishConnInterval) {
			return nil, gaveUp()
		}
	}
}

func (p *publishConns) open() (*PublishConn, error) {
	c := &PublishConn{
		name: rand.Text() + "-", gone: make(chan struct{}),
		onEnd: make(map[int]func(context.Context)), batches: make(map[string]*Batch),
	}
	opts := []nats.Option{nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) {
		close(c.gone)
		p.ended(c)
	})}
	if p.retrier.embedded() {
		// The connection ends with the leader. A stopped leader reads what was sent to it once
		// it continues.
		opts = append(opts, nats.PingInterval(0))
	}
	conn, err := p.target.connect(opts...)
	if err != nil {
		return nil, err
	}
	c.conn, c.inbox = conn, conn.NewInbox()+"."
	if _, err := conn.Subscribe(c.inbox+">", c.answered); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// ended tells the users of a connection that it has ended.
func (p *publishConns) ended(c *PublishConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.calls.Go(func() {
		c.mu.Lock()
		var calls []func(context.Context)
		for _, f := range c.onEnd {
			calls = append(calls, f)
		}
		c.mu.Unlock()
		for _, f := range calls {
			f(p.retrier.closed)
		}
	})
}

// close ends the connection for good. The store's context must have ended.
func (p *publishConns) close() {
	p.stop.Do(func() { p.opening <- struct{}{} }) // none is opened any more
	p.mu.Lock()
	p.closed = true
	last := p.last
	p.mu.Unlock()
	if last != nil {
		last.End()
		<-last.gone
	}
	p.calls.Wait()
}
