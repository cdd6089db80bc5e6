package natsstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/embedded"
	"github.com/agentworker/worker/eventbus/internal/oncelog"
)

// Options says where the store is. StoreDir or URL is required.
type Options struct {
	// StoreDir is the folder of the embedded server's JetStream store.
	StoreDir string

	// Sync is when what this process stores there as the leader is on the disk.
	Sync embedded.Sync

	// CheckFiles makes this process read all files of the store when it opens it, even
	// unchanged ones.
	CheckFiles bool

	// URL is an existing NATS server or cluster with JetStream, several with
	// commas between them. Empty means the embedded store.
	URL string

	// Access holds the credentials for the server at URL.
	Access Access

	// Replicas is how many servers of a cluster keep what is stored. 0 means 1 for new
	// streams, and any number for existing ones.
	Replicas int

	// Name is the name of the connections, which the server's tools show.
	Name string

	// Lost is called once if the connection is closed for good other than by
	// [Store.Close]. nil means not called. It must not block.
	Lost func(error)

	Logger *slog.Logger // nil discards them
}

// Store is a connection to a NATS store.
type Store struct {
	target   *target
	retrier  *retrier
	conn     *nats.Conn
	js       retryingJetStream
	publish  *publishConns
	reads    chan struct{} // has a value for each read that runs, see [Store.Get]
	replicas int           // of streams that it makes; 0 means not specified

	ctx       context.Context // ends with the store
	cancel    context.CancelCauseFunc
	lost      func(error)
	ended     sync.Once // for lost
	log       *slog.Logger
	campaigns sync.WaitGroup

	findingsMu sync.Mutex
	findings   []Finding // of the streams in an external server
}

// Open connects to the store in opts.StoreDir, in this process or in the one that
// leads, or to the server at opts.URL. The caller closes it. [embedded.ErrNoLeader] is returned
// if another process has the store open but can't be reached.
func Open(ctx context.Context, opts *Options) (*Store, error) {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{replicas: opts.Replicas, lost: opts.Lost, log: log, reads: make(chan struct{}, maxReads)}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.retrier = &retrier{state: newConnState(), closed: s.ctx}
	reports := oncelog.New(log)
	s.target = &target{urls: opts.URL, access: opts.Access, main: s.retrier.state, options: []nats.Option{
		nats.Name(opts.Name),
		nats.ErrorHandler(func(conn *nats.Conn, _ *nats.Subscription, err error) {
			s.retrier.state.failed(err)
			reports.Report(slog.LevelWarn, "event store", err)
		}),
	}}
	s.publish = newPublishConns(s.target, s.retrier)
	var err error
	switch {
	case opts.URL != "":
		if err = s.connect(); err == nil {
			err = checkVersion(s.conn.ConnectedServerVersion())
		}
	case opts.StoreDir != "":
		err = s.openEmbedded(ctx, opts)
	default:
		err = errors.New("neither a store folder nor a URL is given")
	}
	if err == nil {
		s.js.retrier = s.retrier
		if s.js.JetStream, err = jetstream.New(s.conn); err != nil {
			err = fmt.Errorf("using JetStream of %s: %w", s, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkVersion returns an error for a server that can't make the storing of a message depend
// on what is stored on another subject, as nats-server does from 2.11 on.
func checkVersion(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < 2 || major == 2 && minor < 11 {
		return fmt.Errorf("nats-server %s is too old: use 2.11 or newer, which can refuse the events of a process that has lost its session", version)
	}
	return nil
}

// openEmbedded takes part in the election for the store in opts.StoreDir until
// Close.
func (s *Store) openEmbedded(ctx context.Context, opts *Options) error {
	e, err := embedded.Open(opts.StoreDir, opts.Sync, opts.CheckFiles, s.log)
	if err != nil {
		return err
	}
	s.target.election, s.retrier.election = e, e
	if err := e.Join(ctx, s.connect); err != nil {
		return err
	}
	s.campaigns.Go(s.takePart)
	return nil
}

// takePart takes part in the election until the store is closed or removed.
func (s *Store) takePart() {
	e := s.target.election
	if err := e.Run(s.ctx, s.retrier.state.lost, s.conn.IsConnected); err != nil {
		if !errors.Is(err, embedded.ErrMoved) {
			err = fmt.Errorf("%w: %w", ErrLost, err)
		}
		s.end(err)
		// Nothing waits for the connection any longer.
		s.conn.Close()
		if err := e.Resign(); err != nil { // nothing more is written, there or here
			s.log.Warn("closing the event store failed", "err", err)
		}
	}
}

// connect makes the connection that is reconnected until the store is closed.
func (s *Store) connect() (err error) {
	opts := append(s.retrier.state.options(), nats.MaxReconnects(-1), nats.ClosedHandler(s.closed))
	if s.conn, err = s.target.connectMain(opts...); err != nil {
		return fmt.Errorf("connecting to %s: %w", s, err)
	}
	s.retrier.state.of(s.conn)
	s.retrier.state.connected()
	return nil
}

// closed is called when the connection is closed. The library closes it for good
// if the server refuses what was sent or, repeatedly, credentials in its URL.
func (s *Store) closed(conn *nats.Conn) {
	if s.ctx.Err() != nil || s.conn != conn { // closed by Close, or never the store's
		return
	}
	err := ErrLost
	if last := conn.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", ErrLost, last)
	}
	s.end(err)
}

// end ends the store for good. The first call counts.
func (s *Store) end(err error) {
	s.ended.Do(func() {
		s.cancel(err)
		if s.lost != nil {
			s.lost(err)
		}
	})
}

// Close closes the connection and, if this process leads, the store: it is then complete on
// disk, and another process that uses it leads. A removed store that is noticed only now is
// reported, too.
func (s *Store) Close() error {
	if gone := s.target.election.Moved(); gone != nil && s.ctx.Err() == nil {
		s.end(gone)
	}
	s.cancel(ErrClosed)
	s.campaigns.Wait()
	s.publish.close()
	if s.conn != nil {
		s.conn.Close()
	}
	if e := s.target.election; e != nil {
		return e.Resign()
	}
	return nil
}

// String returns the store's address without passwords.
func (s *Store) String() string { return redacted(s.target.urls) }

// Context returns a context that ends when the store is closed or lost.
func (s *Store) Context() context.Context { return s.ctx }

// Conn returns the connection itself, for services on it. Only the connection shows that a
// store has moved.
func (s *Store) Conn() *nats.Conn { return s.conn }

// JetStream returns a JetStream whose operations are repeated while the store is
// away.
func (s *Store) JetStream() jetstream.JetStream { return s.js }

// PublishConn returns the connection to publish on. While the store is away it
// waits until ctx ends.
func (s *Store) PublishConn(ctx context.Context) (*PublishConn, error) { return s.publish.get(ctx) }

// Embedded reports whether the store is the embedded one, in this process or in
// another one of the user.
func (s *Store) Embedded() bool { return s.retrier.embedded() }

// Election returns this process's part in running the embedded store; nil means the store
// is external.
func (s *Store) Election() *embedded.Election { return s.retrier.election }

// Health is what is known of the store at one moment.
type Health struct {
	// Embedded reports that the store is the embedded one, in this process or in another
	// one of the user.
	Embedded bool

	// Leads reports that this process runs the embedded store.
	Leads bool

	// Stopped reports that another process runs the embedded store, and is stopped, as by
	// Ctrl-Z. Whatever waits for the store waits for that process.
	Stopped bool

	// Patience is how long an operation may wait for the store, as [Store.Waited] counts it.
	// It is 10 s, or 30 s if the embedded store is available and slow because the machine is
	// busy.
	Patience time.Duration

	// Diagnosis is what is known to be wrong with the store, as a remark to append to an
	// error that does not say it. It is empty if nothing is wrong.
	Diagnosis string

	// Findings are what is wrong with the streams and buckets of an external server
	// without keeping a worker from starting.
	Findings []Finding
}

// Health returns what is known of the store at the moment.
func (s *Store) Health() Health {
	e := s.retrier.election
	h := Health{Embedded: s.Embedded(), Leads: e.Leads(), Stopped: e.Stopped(), Patience: s.retrier.patience(), Diagnosis: s.retrier.diagnosis()}
	s.findingsMu.Lock()
	defer s.findingsMu.Unlock()
	h.Findings = slices.Clone(s.findings)
	return h
}

// Waited returns for how long an operation that began at a time has waited for the store in
// vain. Time in which the process that runs the store was stopped, or this one was suspended,
// does not count. Neither does the time before that, for up to an hour.
func (s *Store) Waited(began time.Time) time.Duration { return s.retrier.waited(began) }

// Suspend hands the embedded store over to another process, if this one runs it. Until
// [Store.Resume] this process does not run it again. Call it before the process is
// stopped: a stopped process keeps the store from all others. Meanwhile the bus waits for
// the store, or uses that of the other process.
func (s *Store) Suspend(ctx context.Context) error {
	if !s.Embedded() {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	return s.target.election.Suspend(ctx)
}

// Resume ends what Suspend has begun.
func (s *Store) Resume() {
	if s.Embedded() {
		s.target.election.Resume()
	}
}

// AckTimeout returns how long the store may take to acknowledge an event, by what is
// known of it at the moment.
func (s *Store) AckTimeout() time.Duration {
	switch {
	case s.retrier.election.Stopped():
		return embedded.StoppedTimeout
	case s.Embedded():
		return s.retrier.patience()
	}
	return ackTimeout
}

// ConnAckTimeout returns how long a process waits for an acknowledgement on one
// connection. Then it tries another one.
func (s *Store) ConnAckTimeout() time.Duration {
	if s.Embedded() {
		return followerAckTimeout
	}
	return AttemptTimeout
}

// Away reports whether err says that the store is unavailable for a while.
func (s *Store) Away(err error) bool { return s.retrier.away(err) }

// Retry calls f until it succeeds or fails for good, at most for the time of an operation plus
// extra. f must be safe to repeat.
func Retry[T any](ctx context.Context, s *Store, extra time.Duration, f func(ctx context.Context) (T, error)) (T, error) {
	return retry(ctx, s.retrier, limits{operationTimeout + extra, AttemptTimeout + extra}, f)
}

// Request sends data on a subject, and returns when somebody has answered. If the
// connection is lost it sends the request again: it must be safe to repeat. If
// nobody listens the error is [nats.ErrNoResponders].
func (s *Store) Request(ctx context.Context, subject string, data []byte) error {
	_, err := s.Ask(ctx, subject, data)
	return err
}

// Ask is [Store.Request], and returns the answer.
func (s *Store) Ask(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := checkSubject(subject); err != nil {
		return nil, err
	}
	for {
		connected, end, err := s.retrier.state.await(ctx, s.ctx)
		if err != nil {
			return nil, err
		}
		msg, err := s.conn.RequestWithContext(connected, subject, data)
		lost := connected.Err() != nil
		end()
		switch {
		case err == nil:
			return msg.Data, nil
		case !lost || ctx.Err() != nil:
			return nil, err
		}
	}
}
