package eventbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long an operation whose context has no deadline of its own
	// is tried again while the store is away.
	patience = 10 * time.Second

	// attemptWait bounds one try, since a server that has gone may take a request
	// with it; againWait is the pause between two.
	attemptWait = 3 * time.Second
	againWait   = 50 * time.Millisecond
)

// errLinkLost is why a try is given up: its answer would not come any more.
var errLinkLost = errors.New("the connection to the event store was lost")

// maxSubject bounds the subjects that are sent, in bytes. The server takes lines
// of 4 KiB, with a reply subject and what the API of JetStream adds in them.
const maxSubject = 1024

// fits returns an error for a subject that the server could close the connection
// for. It stands before whatever is sent with a part that others have chosen.
func fits(subject string) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("the subject %.60s… has %d bytes, and %d are allowed", subject, len(subject), maxSubject)
	}
	return nil
}

// errBusClosed is returned for what is asked of a bus after its Close.
var errBusClosed = errors.New("the event bus is closed")

// link tells when a connection is there, and when it is lost.
type link struct {
	mu   sync.Mutex
	up   chan struct{}   // closed while the connection is there
	life context.Context // ends when it is lost
	lose context.CancelCauseFunc
	down chan struct{} // gets a value when it is lost, if there is room
}

func newLink() *link {
	l := &link{up: make(chan struct{}), down: make(chan struct{}, 1)}
	l.life, l.lose = context.WithCancelCause(context.Background())
	return l
}

// options make a connection that is there report to l.
func (l *link) options() []nats.Option {
	return []nats.Option{
		nats.ReconnectHandler(func(*nats.Conn) { l.found() }),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.lost() }),
	}
}

func (l *link) found() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(errLinkLost) // what began before may have gone the old way
	l.life, l.lose = context.WithCancelCause(context.Background())
	select {
	case <-l.up:
	default:
		close(l.up)
	}
}

func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(errLinkLost)
	select {
	case <-l.up:
		l.up = make(chan struct{})
	default:
	}
	select {
	case l.down <- struct{}{}:
	default:
	}
}

// wait returns, once the connection is there, a context that ends with ctx and
// when the connection is lost or the bus is closed.
func (l *link) wait(ctx, closed context.Context) (context.Context, context.CancelFunc, error) {
	for {
		l.mu.Lock()
		up, life := l.up, l.life
		l.mu.Unlock()
		select {
		case <-up:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-closed.Done():
			return nil, nil, context.Cause(closed)
		}
		if life.Err() != nil { // found anew meanwhile
			continue
		}
		try, end := context.WithCancel(ctx)
		stop, stopToo := context.AfterFunc(life, end), context.AfterFunc(closed, end)
		return try, func() { stop(); stopToo(); end() }, nil
	}
}

// again calls f until it succeeds or fails for good, while the store goes from
// one process to another or the leader of a stream from one server to another;
// until ctx ends, at most. What f does may then be done twice: it has to be
// something that can be.
func again[T any](ctx context.Context, b *Bus, f func(ctx context.Context) (T, error)) (T, error) {
	return againLonger(ctx, b, 0, f)
}

// againLonger is again where f may take longer, by what it has to move.
func againLonger[T any](ctx context.Context, b *Bus, longer time.Duration, f func(ctx context.Context) (T, error)) (T, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience+longer)
		defer cancel()
	}
	for {
		there, end, err := b.link.wait(ctx, b.ctx)
		if err != nil {
			var none T
			return none, fmt.Errorf("%w%s", err, b.complaint())
		}
		began := time.Now()
		try, stop := context.WithTimeout(there, attemptWait+longer)
		v, err := f(try)
		given := try.Err() != nil
		stop()
		end()
		if err == nil || ctx.Err() != nil || !given && !b.away(err) {
			return v, err
		}
		if given && b.complained(began) {
			return v, fmt.Errorf("%w%s", err, b.complaint())
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-b.ctx.Done():
			return v, err
		case <-time.After(againWait):
		}
	}
}

// away reports whether err says that the store is away for a while.
func (b *Bus) away(err error) bool {
	if b.Embedded() && (errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)) {
		return true // its process is about to end
	}
	return Transient(err) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// Request sends data on a subject and returns when somebody has answered, for
// what can be asked twice: where the connection is lost it asks again. Where
// nobody listens the error is [nats.ErrNoResponders].
func (b *Bus) Request(ctx context.Context, subject string, data []byte) error {
	if err := fits(subject); err != nil {
		return err
	}
	for {
		there, end, err := b.link.wait(ctx, b.ctx)
		if err != nil {
			return err
		}
		_, err = b.conn.RequestWithContext(there, subject, data)
		lost := there.Err() != nil
		end()
		if err == nil || !lost || ctx.Err() != nil {
			return err
		}
	}
}
