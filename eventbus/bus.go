package eventbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the JetStream stream that holds the events of all workspaces.
const Stream = "AGENT_EVENTS"

// retention is how long events are kept.
const retention = 30 * 24 * time.Hour

// Options says where the bus runs. StoreDir or URL is required.
type Options struct {
	// StoreDir is the folder of the embedded server's JetStream store, which
	// no other process may use at the same time.
	StoreDir string

	// ShareDir is the folder through which other processes of the user get at
	// the embedded store, by [Join]. It is made, readable by the user alone.
	// Empty: none can.
	ShareDir string

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
	said      *serverLog     // what the server has logged; nil: external
	share     *share         // lets other processes in; nil: none
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
	address := opts.URL
	natsOpts := append(connOptions(workspace, log), nats.MaxReconnects(-1))
	if address == "" {
		if opts.StoreDir == "" {
			return nil, errors.New("opening the event bus: neither a store folder nor a URL is given")
		}
		token := rand.Text()
		srv, said, err := startServer(opts.StoreDir, token, log)
		if err != nil {
			return nil, fmt.Errorf("starting the embedded event store in %s: %w", opts.StoreDir, err)
		}
		b.server, b.said = srv, said
		natsOpts = append(natsOpts, nats.InProcessServer(srv), nats.Token(token))
		if opts.ShareDir != "" {
			if b.share, err = startShare(opts.ShareDir, srv, token, log); err != nil {
				return nil, errors.Join(fmt.Errorf("sharing the event store by %s: %w", opts.ShareDir, err), b.Close())
			}
		}
	}
	if err := b.connect(ctx, address, natsOpts); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func connOptions(workspace string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("agentworker " + workspace),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("event bus", "err", err) }),
	}
}

func (b *Bus) connect(ctx context.Context, address string, opts []nats.Option) error {
	where := shown(address)
	var err error
	if b.conn, err = nats.Connect(address, opts...); err != nil {
		return fmt.Errorf("connecting to %s: %s", where, strings.ReplaceAll(err.Error(), address, where))
	}
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(maxPendingTotal))
	if err != nil {
		return fmt.Errorf("using JetStream of %s: %w", where, err)
	}
	b.events, err = b.EnsureStream(ctx, jetstream.StreamConfig{
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

// EnsureStream makes a stream. In a server that is not ours one that is there
// stays as its operator has set it up.
func (b *Bus) EnsureStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if b.server == nil {
		stream, err := b.js.Stream(ctx, cfg.Name)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return stream, err
		}
	}
	return b.js.CreateOrUpdateStream(ctx, cfg)
}

// EnsureBucket makes a key-value bucket, like [Bus.EnsureStream].
func (b *Bus) EnsureBucket(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	if b.server == nil {
		bucket, err := b.js.KeyValue(ctx, cfg.Bucket)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return bucket, err
		}
	}
	return b.js.CreateOrUpdateKeyValue(ctx, cfg)
}

// IsConflict reports whether a write was refused because what is stored has
// changed meanwhile.
func IsConflict(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// complaint returns what the embedded server has said last of what is wrong
// with it, to be put behind an error that does not.
func (b *Bus) complaint() string {
	if b.said == nil {
		return ""
	}
	if last := b.said.last.Load(); last != nil {
		return " (the store says: " + OneLine(*last, 300) + ")"
	}
	return ""
}

// shown returns the addresses of servers without their passwords.
func shown(urls string) string {
	if urls == "" {
		return "the embedded event store"
	}
	var out []string
	for part := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			out = append(out, "a NATS server")
			continue
		}
		out = append(out, u.Redacted())
	}
	return strings.Join(out, ",")
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
	if b.share != nil {
		b.share.close()
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	return nil
}
