package eventbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the JetStream stream that holds the events of all workspaces.
const Stream = "AGENT_EVENTS"

// retention is how long events are kept.
const retention = 30 * 24 * time.Hour

// Options says where the bus runs. Either StoreDir or URL is required.
type Options struct {
	// StoreDir is the folder of the embedded server's JetStream store, which
	// no other process may use at the same time.
	StoreDir string

	// URL is an existing NATS server or cluster with JetStream
	// ("nats://host:4222", several with commas between). Empty: the embedded
	// server, without any listening socket.
	URL string

	Logger *slog.Logger // nil: discard
}

// Bus is a connection to the event streams of one workspace.
type Bus struct {
	workspace string
	server    *server.Server // nil: external
	conn      *nats.Conn
	js        jetstream.JetStream
	events    jetstream.Stream
}

// Open starts the embedded server, or connects to the one at opts.URL, and
// makes sure of the event stream. workspace is a workspace id: one token of a
// subject. Close gives everything back.
func Open(ctx context.Context, workspace string, opts *Options) (*Bus, error) {
	if !validToken(workspace) {
		return nil, fmt.Errorf("opening the event bus: %q is no workspace id (it may have no dots, spaces, * or >)", workspace)
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{workspace: workspace}
	url := opts.URL
	natsOpts := []nats.Option{
		nats.Name("agentworker " + workspace),
		nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("event bus", "err", err) }),
	}
	if url == "" {
		srv, err := startServer(opts.StoreDir, log)
		if err != nil {
			return nil, fmt.Errorf("starting the embedded event store in %s: %w", opts.StoreDir, err)
		}
		b.server = srv
		natsOpts = append(natsOpts, nats.InProcessServer(srv))
	}
	if err := b.connect(ctx, url, natsOpts); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bus) connect(ctx context.Context, url string, opts []nats.Option) error {
	where := url
	if where == "" {
		where = "the embedded event store"
	}
	var err error
	if b.conn, err = nats.Connect(url, opts...); err != nil {
		return fmt.Errorf("connecting to %s: %w", where, err)
	}
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(maxPendingTotal))
	if err != nil {
		return fmt.Errorf("using JetStream of %s: %w", where, err)
	}
	b.events, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        Stream,
		Description: "events of agent sessions, in the view of the root session",
		Subjects:    []string{"agents.v1.*.events.>"},
		Storage:     jetstream.FileStorage,
		MaxAge:      retention,
		Duplicates:  30 * time.Second,
		AllowDirect: true,
	})
	if err != nil {
		return fmt.Errorf("making the stream %s in %s: %w", Stream, where, err)
	}
	return nil
}

// Workspace returns the id of the workspace.
func (b *Bus) Workspace() string { return b.workspace }

// JetStream returns the connection's JetStream, for what else is stored there.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Conn returns the connection itself, for services on it.
func (b *Bus) Conn() *nats.Conn { return b.conn }

// Embedded reports whether the server runs in this process, which then is the
// only one that uses the store.
func (b *Bus) Embedded() bool { return b.server != nil }

// Subject returns the subject below which all events of path's session and its
// descendants are published; add ".>" to subscribe.
func (b *Bus) Subject(path Path) (string, error) {
	return path.subject("agents.v1." + b.workspace + ".events")
}

// Close closes the connection and stops the embedded server, after which its
// store is complete on disk. Publishers are to be flushed before.
func (b *Bus) Close() error {
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	return nil
}
