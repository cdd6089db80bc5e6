package eventbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the JetStream stream that holds the events of all workspaces.
const Stream = "AGENT_EVENTS"

// ErrLost is returned for what is asked of a bus whose connection was closed for
// good.
var ErrLost = errors.New("the connection to the event store is closed for good")

// Options says where the bus runs. StoreDir or URL is required.
type Options struct {
	// StoreDir is the folder of the embedded server's JetStream store. All
	// processes of the user that name it share the store: the first one opens
	// it, the others are let in, and when the first one ends or is killed another
	// opens it.
	StoreDir string

	// URL is an existing NATS server or cluster with JetStream
	// ("nats://host:4222", several with commas between). Empty: the embedded
	// server, which listens on no socket before a second process asks for it.
	URL string

	// Access says who we are to the server at URL.
	Access Access

	// Replicas is how many servers of a cluster keep what is stored: 1, 3 or 5;
	// 0: 1 where the worker makes a stream, and any number where it is there.
	Replicas int

	// MaxAge is how long events are kept in a stream that the bus makes; 0: for
	// ever. Sessions are deleted whole before ([Bus.Purge]): this is for what is
	// of no session, and of none any more.
	MaxAge time.Duration

	// Lost is called once when the connection is closed for good, other than by
	// [Bus.Close]: nothing mends it, and whatever is asked of the bus from then on
	// fails with the same error. nil: nobody is told. It must not wait.
	Lost func(error)

	Logger *slog.Logger // nil: discard
}

// Bus is a connection to the event streams of one workspace.
type Bus struct {
	workspace string
	address   string        // of the servers
	options   []nats.Option // of every connection
	seat      *seat         // at the embedded store; nil: the server is external
	link      *link         // of conn
	conn      *nats.Conn
	js        keptJetStream
	events    jetstream.Stream
	replicas  int           // of streams that are made; 0: not said
	maxAge    time.Duration // of events; 0: for ever
	lanes     lanes
	tap       *tap

	ctx    context.Context // ends with the bus
	cancel context.CancelCauseFunc
	lost   func(error)
	seated sync.WaitGroup // until nobody looks after the seat any more

	findingsMu sync.Mutex
	findings   []Finding // of the streams in an external server
}

// Open opens the store in opts.StoreDir, here or through the process that has it
// open, or connects to the server at opts.URL, and makes sure of the event
// stream. workspace is a workspace id: one token of a subject. Close gives
// everything back. [ErrNoHost] says that another process has the store open and
// lets nobody in.
func Open(ctx context.Context, workspace string, opts *Options) (*Bus, error) {
	if !event.ValidID(workspace) {
		return nil, fmt.Errorf("opening the event bus: %.80q is no workspace id: those have 1 to %d letters, digits, - and _", workspace, event.MaxID)
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{workspace: workspace, replicas: opts.Replicas, maxAge: opts.MaxAge, address: opts.URL, link: newLink(), lanes: lanes{turn: make(chan struct{}, 1)}}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	b.lost = opts.Lost
	b.tap = newTap(b)
	b.options = []nats.Option{
		nats.Name("agentworker " + workspace),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("event bus", "err", err) }),
	}
	var err error
	switch {
	case opts.URL != "":
		err = b.openExternal(opts.Access)
	case opts.StoreDir != "":
		err = b.openEmbedded(ctx, opts.StoreDir, log)
	default:
		err = errors.New("neither a store folder nor a URL is given")
	}
	if err == nil {
		err = b.openStream(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the event bus: %w", errors.Join(err, b.Close()))
	}
	return b, nil
}

func (b *Bus) openExternal(access Access) error {
	opts, err := access.options(b.address)
	if err != nil {
		return err
	}
	b.options = append(b.options, opts...)
	return b.connect()
}

// connect makes the connection that is mended as long as the bus is open.
func (b *Bus) connect(opts ...nats.Option) (err error) {
	opts = append(append(append(b.dial(), b.link.options()...), nats.MaxReconnects(-1), nats.ClosedHandler(b.closed)), opts...)
	if b.conn, err = nats.Connect(b.address, opts...); err != nil {
		return fmt.Errorf("connecting to %s: %w", shown(b.address), explainConnect(err))
	}
	b.link.found()
	return nil
}

// closed is called when the connection is closed. The library does that for
// good where the server refuses what was sent, or, again, who sends it.
func (b *Bus) closed(conn *nats.Conn) {
	if b.ctx.Err() != nil || b.conn != conn { // by Close; or it never was the bus's
		return
	}
	err := ErrLost
	if last := conn.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", ErrLost, last)
	}
	b.cancel(err)
	if b.lost != nil {
		b.lost(err)
	}
}

// openEmbedded takes a seat at the store in dir, and keeps it until Close.
func (b *Bus) openEmbedded(ctx context.Context, dir string, log *slog.Logger) (err error) {
	if b.seat, err = newSeat(dir, log); err != nil {
		return fmt.Errorf("opening the event store in %s: %w", dir, err)
	}
	if _, err := b.seat.step(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, seatWait)
	defer cancel()
	b.seat.find(waiting, func() bool {
		return b.connect(nats.ReconnectWait(seatRetry), nats.ReconnectJitter(0, 0)) == nil
	})
	switch {
	case b.conn != nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return b.seat.why()
	}
	b.seated.Go(func() {
		for {
			select {
			case <-b.ctx.Done():
				return
			case <-b.link.down:
				b.seat.find(b.ctx, b.conn.IsConnected)
			}
		}
	})
	return nil
}

// dial returns the options of a new connection.
func (b *Bus) dial() []nats.Option {
	opts := slices.Clone(b.options)
	if b.seat != nil {
		opts = append(opts, b.seat.options()...)
	}
	return opts
}

// openStream makes sure of the event stream.
func (b *Bus) openStream(ctx context.Context) error {
	js, err := jetstream.New(b.conn)
	if err != nil {
		return fmt.Errorf("using JetStream of %s: %w", shown(b.address), err)
	}
	b.js = keptJetStream{js, b}
	b.events, err = b.EnsureStream(ctx, jetstream.StreamConfig{
		Name:        Stream,
		Description: "events of agent sessions, in the view of the root session",
		Subjects:    []string{"agents.v1.*.events.>"},
		Storage:     jetstream.FileStorage,
		MaxAge:      b.maxAge,
		Duplicates:  30 * time.Second,
		AllowDirect: true,
	})
	if err != nil {
		return fmt.Errorf("opening the stream %s in %s: %w", Stream, shown(b.address), err)
	}
	return nil
}

// IsConflict reports whether a write was refused because what is stored has
// changed meanwhile.
func IsConflict(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// complaint returns what is known of what is wrong with the store, to be put
// behind an error that does not say it.
func (b *Bus) complaint() string {
	if b.seat == nil {
		return ""
	}
	if h := b.seat.host.Load(); h != nil {
		if last := h.said.last.Load(); last != nil {
			return " (the store says: " + termtext.OneLine(*last, 300) + ")"
		}
		return ""
	}
	return " (" + termtext.OneLine(b.seat.why().Error(), 300) + ")"
}

// complained reports whether the store that this process has open has said since
// a moment that something is wrong with it: what it does not answer then, it will
// not.
func (b *Bus) complained(since time.Time) bool {
	if b.seat == nil {
		return false
	}
	h := b.seat.host.Load()
	return h != nil && h.said.at.Load() >= since.UnixNano()
}

// Workspace returns the id of the workspace.
func (b *Bus) Workspace() string { return b.workspace }

// JetStream returns the connection's JetStream, for what else is stored there.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Conn returns the connection itself, for services on it.
func (b *Bus) Conn() *nats.Conn { return b.conn }

// Embedded reports whether the store is the embedded one, which this process or
// another one of the user has open.
func (b *Bus) Embedded() bool { return b.seat != nil }

// Hosts reports whether this process has the embedded store open at the moment.
func (b *Bus) Hosts() bool { return b.seat != nil && b.seat.host.Load() != nil }

// Subject returns the subject below which all events of path's session and its
// descendants are published; add ".>" to subscribe.
func (b *Bus) Subject(path event.Path) (string, error) {
	return path.Subject("agents.v1." + b.workspace + ".events")
}

// Close closes the connection. If this process has the embedded store open, it
// is closed, after which it is complete on disk, and another process that uses
// it opens it. Publishers are to be flushed before.
func (b *Bus) Close() error {
	b.cancel(errBusClosed)
	b.seated.Wait()
	b.tap.close()
	b.closeLanes()
	if b.conn != nil {
		b.conn.Close()
	}
	if b.seat != nil {
		return b.seat.close()
	}
	return nil
}
