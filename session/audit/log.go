package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

const (
	// linger is how long records wait for others that go with them, unless somebody
	// waits for them.
	linger = 20 * time.Millisecond

	// retryAfter is when records are tried again that could not be stored.
	retryAfter = time.Second

	// maxPending is how many records wait at most for a store that does not take them, and
	// maxSpare how many there is room for all the time.
	maxPending = 10_000
	maxSpare   = 256

	// closeTimeout bounds the storing of what is left when the log is closed.
	closeTimeout = 10 * time.Second
)

// ErrClosed is returned by a log after [Log.Close].
var ErrClosed = errors.New("the audit log is closed")

// errFull is returned while the store has not taken [maxPending] records.
var errFull = fmt.Errorf("%d records wait to be stored", maxPending)

// Options configures a [Log]. The zero value is ready to use.
type Options struct {
	User     string        // the user of this process, for records; may be empty
	MaxBytes uint64        // how much is kept: older records are taken out; 0 means all
	MaxAge   time.Duration // how long a record is kept; 0 means for ever

	Now func() time.Time // the clock by which records are old; nil means [time.Now]

	Logger *slog.Logger // nil discards what is wrong with the log
}

// Log is the audit log of a workspace. Any number of processes may write it: there is
// one chain. It is safe for concurrent use.
type Log struct {
	bus     *eventbus.Bus
	stream  jetstream.Stream
	subject string
	options Options
	log     *slog.Logger

	chain  chain // of the goroutine that stores
	sealer sealer

	mu      sync.Mutex
	pending []Record // not stored yet, the oldest first
	spare   []Record // room for what is pending next
	next    *round   // that will store what is pending
	now     *round   // that stores; nil means nothing is on its way
	failed  error    // of the last round
	closed  bool
	begun   chan struct{} // has a value once something is pending
	urgent  chan struct{} // has a value once somebody waits for what is pending
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed once nothing is stored any more
}

// round is one attempt to store what was pending.
type round struct {
	done chan struct{}
	err  error
}

func newRound() *round { return &round{done: make(chan struct{})} }

// StreamName returns the name of the stream that has the log of a workspace.
func StreamName(workspace string) string { return "AGENT_AUDIT_" + workspace }

// Open opens the log of the bus's workspace, and makes its stream if it does not exist.
// The caller closes the log before the bus.
func Open(ctx context.Context, bus *eventbus.Bus, opts Options) (*Log, error) {
	l := &Log{
		bus: bus, subject: "agents.v1." + bus.Workspace() + ".audit", options: opts, log: opts.Logger, next: newRound(),
		begun: make(chan struct{}, 1), urgent: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.options.Now == nil {
		l.options.Now = time.Now
	}
	err := bus.Election().Opening(ctx, func(ctx context.Context) (err error) {
		l.stream, err = bus.Store().EnsureStream(ctx, jetstream.StreamConfig{
			Name:        StreamName(bus.Workspace()),
			Description: "audit log of agent sessions: a chain of hashes",
			Subjects:    []string{l.subject},
			Storage:     jetstream.FileStorage,
			DenyDelete:  true,
			AllowDirect: true,
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	go l.run()
	return l, nil
}

// Add adds a record. It is stored after earlier ones, within some 20 ms, or when
// [Log.Flush] returns. An error means that it will not be stored.
func (l *Log) Add(r Record) error {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time = r.Time.UTC().Round(0)
	r.User = l.options.User
	r = r.cleaned()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	case len(l.pending) >= maxPending:
		return errors.Join(errFull, l.failed)
	}
	l.pending = append(l.pending, r)
	if len(l.pending) == 1 {
		wake(l.begun)
	}
	return nil
}

// Flush returns when all that was added before is stored, or with the error for which it
// is not: then it is tried again later.
func (l *Log) Flush(ctx context.Context) error {
	l.mu.Lock()
	r := l.now
	if len(l.pending) > 0 {
		r = l.next
		wake(l.urgent)
	}
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return r.err
	case <-l.done:
		return l.left()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close stores what is left, for some seconds at most. An error says how many records
// could not be stored. Add fails afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	<-l.done
	return l.left()
}

// left returns an error if records of a closed log were not stored.
func (l *Log) left() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return nil
	}
	return fmt.Errorf("the last %d records are not in the audit log: %w", len(l.pending), cmp.Or(l.failed, ErrClosed))
}

// run stores what is pending until the log is closed.
func (l *Log) run() {
	defer close(l.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bound := make(chan struct{})
	go func() { // what is on its way when the log is closed has closeTimeout
		defer close(bound)
		select {
		case <-l.stop:
		case <-ctx.Done():
			return
		}
		wait(ctx.Done(), closeTimeout)
		cancel()
	}()
	defer func() { cancel(); <-bound }()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for l.await(timer) {
		if err := l.storePending(ctx); err != nil {
			l.log.Error("records are not in the audit log yet", "err", err)
			timer.Reset(retryAfter)
			select {
			case <-l.stop:
			case <-l.urgent:
			case <-timer.C:
			}
			wake(l.begun)
		}
	}
	for err := l.storePending(ctx); err != nil && mayRepeat(err) && wait(ctx.Done(), again); {
		err = l.storePending(ctx)
	}
}

// await returns true when something must be stored, or false when the log is closed.
func (l *Log) await(timer *time.Timer) (open bool) {
	select {
	case <-l.stop:
		return false
	case <-l.urgent:
	case <-l.begun:
		timer.Reset(linger)
		select {
		case <-l.stop:
			return false
		case <-l.urgent:
		case <-timer.C:
		}
	}
	return true
}

// wait waits for a time, and reports whether it has passed before end was closed.
func wait(end <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-end:
		return false
	case <-timer.C:
		return true
	}
}

// storePending stores what is pending now.
func (l *Log) storePending(ctx context.Context) error {
	l.mu.Lock()
	batch, now := l.pending, l.next
	if len(batch) == 0 {
		l.mu.Unlock()
		return nil
	}
	l.pending, l.spare, l.next, l.now = l.spare, nil, newRound(), now
	l.mu.Unlock()

	left, err := l.chain.store(ctx, l, batch)

	l.mu.Lock()
	if len(left) > 0 {
		l.pending = append(left, l.pending...)
	} else if cap(batch) <= maxSpare {
		clear(batch)
		l.spare = batch[:0]
	}
	l.now, l.failed, now.err = nil, err, err
	l.mu.Unlock()
	close(now.done)
	return err
}
