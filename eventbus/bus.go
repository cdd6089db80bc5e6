package eventbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// Stream is the JetStream stream that holds the events of all workspaces.
const Stream = "AGENT_EVENTS"

// Options says where the store is. StoreDir or URL is required.
type Options struct {
	// StoreDir is the folder of the embedded server's JetStream store. All
	// processes of the user that name it share the store: one leads and runs the
	// server, the others connect to it. When the leader ends or is killed, another
	// process leads.
	StoreDir string

	// Sync says how much a power cut may take from the embedded store. It counts
	// in the process that leads. The zero value: the last 10 s at most.
	Sync Sync

	// CheckFiles makes this process read all files of the embedded store when it opens it,
	// even unchanged ones.
	CheckFiles bool

	// URL is an existing NATS server or cluster with JetStream
	// ("nats://host:4222", several with commas between them). Empty means the embedded
	// server, which listens on no socket until a second process needs it.
	URL string

	// Access holds the credentials for the server at URL.
	Access Access

	// Replicas is how many servers of a cluster keep what is stored: 1, 3 or 5;
	// 0 means 1 for a stream that the worker makes. An existing one may then have any number.
	Replicas int

	// MaxAge is how long events are kept in a stream that the bus makes; 0 means for
	// ever. Whole sessions are deleted earlier ([Bus.Purge]): this is for events
	// that belong to no session, or no longer to one.
	MaxAge time.Duration

	// Lost is called once if the connection is closed for good other than by
	// [Bus.Close]. Every later operation on the bus fails with the same error.
	// nil means not called. It must not block.
	Lost func(error)

	Logger *slog.Logger // nil discards them
}

// Bus is a connection to the event streams of one workspace.
type Bus struct {
	workspace string
	store     *natsstore.Store
	events    jetstream.Stream
	payloads  *payloads
	reader    reader
	fanOut    *fanOut
	writer    *writer
	stop      context.CancelCauseFunc // ends the fan-out
}

// Open opens the store in opts.StoreDir, or connects to the server at opts.URL. It makes the
// event stream if there is none. Another process may already run the store of that folder.
// workspace is a workspace id: one token of a subject. The caller closes the Bus.
// [ErrNoLeader] is returned if another process has the store open but can't be reached.
func Open(ctx context.Context, workspace string, opts *Options) (*Bus, error) {
	if !event.ValidID(workspace) {
		return nil, fmt.Errorf("opening the event bus: %.80q is not a workspace id: it may have 1 to %d letters, digits, - and _", workspace, event.MaxID)
	}
	if opts == nil {
		opts = &Options{}
	}
	store, err := natsstore.Open(ctx, &natsstore.Options{
		StoreDir:   opts.StoreDir,
		Sync:       opts.Sync,
		CheckFiles: opts.CheckFiles,
		URL:        opts.URL,
		Access:     opts.Access,
		Replicas:   opts.Replicas,
		Name:       "agentworker " + workspace,
		Lost:       opts.Lost,
		Logger:     opts.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the event bus: %w", err)
	}
	var events jetstream.Stream
	err = store.Election().Opening(ctx, func(ctx context.Context) (err error) {
		events, err = store.EnsureStream(ctx, jetstream.StreamConfig{
			Name:        Stream,
			Description: "events of agent sessions, in the view of the root session",
			Subjects:    []string{"agents.v1.*.events.>"},
			Storage:     jetstream.FileStorage,
			MaxAge:      opts.MaxAge,
			Duplicates:  natsstore.DuplicateWindow,
			AllowDirect: true,

			AllowBatchPublish: true,
		})
		return err
	})
	if err != nil {
		err = fmt.Errorf("opening the stream %s in %s: %w", Stream, store, err)
		return nil, fmt.Errorf("opening the event bus: %w", errors.Join(err, store.Close()))
	}
	b := &Bus{workspace: workspace, store: store, events: events, payloads: &payloads{store: store, workspace: workspace}, reader: reader{store}}
	var running context.Context
	running, b.stop = context.WithCancelCause(store.Context())
	b.fanOut = newFanOut(running, b.reader, events, "agents.v1."+workspace+".events.")
	b.writer = newWriter(running, b.reader, events, "agents.v1."+workspace+".events.>")
	return b, nil
}

// Close closes the connection. If this process leads, it closes the store, which
// is then complete on disk, and another process that uses it leads. Flush
// publishers before.
func (b *Bus) Close() error {
	b.stop(natsstore.ErrClosed)
	b.fanOut.wait()
	b.writer.wait()
	return b.store.Close()
}

// Publisher returns the publisher of a new session, which path leads to. A session has one
// publisher, in one process: another one comes by [Bus.Take].
func (b *Bus) Publisher(path event.Path) (*Publisher, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, fmt.Errorf("publishing events: %w", err)
	}
	logSubject, err := b.logSubject(path)
	if err != nil {
		return nil, fmt.Errorf("publishing events: %w", err)
	}
	before, after := path.Envelope()
	return &Publisher{
		writer: b.writer, payloads: b.payloads, sessionID: path[len(path)-1].SessionID,
		subject: subject, turnSubject: subject + "." + turnToken, entrySubject: logSubject + "." + entryToken, fenceSubject: logSubject + "." + FenceKind,
		random: rand.Text()[:8], before: before, after: after,
	}, nil
}

// Begin says that the session at the end of path is new: nothing is stored yet of
// it, nor of sessions below it. What follows it from its start in this process then
// need not ask the store. It must be called before anything of the session is
// published.
func (b *Bus) Begin(path event.Path) error {
	subject, err := b.Subject(path)
	if err != nil {
		return fmt.Errorf("beginning a session: %w", err)
	}
	b.fanOut.begin(subject)
	return nil
}

// Purge deletes the logs of the session at the end of path and of all sessions
// below it, and the payloads of the session itself.
func (b *Bus) Purge(ctx context.Context, path event.Path) error {
	subject, err := b.Subject(path)
	if err != nil {
		return err
	}
	logSubject, err := b.logSubject(path)
	if err != nil {
		return err
	}
	for _, subject := range []string{subject, logSubject} {
		if err := b.events.Purge(ctx, jetstream.WithPurgeSubject(subject+".>")); err != nil {
			return fmt.Errorf("deleting what is stored below %s: %w", subject, err)
		}
	}
	b.fanOut.forget(subject)
	return b.PurgePayloads(ctx, path[len(path)-1].SessionID)
}

// PurgePayloads deletes the payloads of a session, whose log must be deleted too.
func (b *Bus) PurgePayloads(ctx context.Context, sessionID string) error {
	return b.payloads.purge(ctx, sessionID)
}

// StorePayload stores a content for a session, which is deleted with it.
func StorePayload(ctx context.Context, b *Bus, sessionID string, data []byte) (*event.PayloadRef, error) {
	return b.payloads.put(ctx, sessionID, data)
}

// PayloadOf refers to a content that a session has stored, by its hash.
func PayloadOf(b *Bus, sessionID, sha256 string) *event.PayloadRef {
	return &event.PayloadRef{Bucket: payloadBucket, Name: b.payloads.name(sessionID, sha256), SHA256: sha256}
}

// Payload returns the content that ref refers to, or [ErrNoPayload].
func (b *Bus) Payload(ctx context.Context, ref *event.PayloadRef) ([]byte, error) {
	return b.payloads.get(ctx, ref)
}

// Subject returns the subject below which all events of path's session and its
// descendants are published; append ".>" to subscribe.
func (b *Bus) Subject(path event.Path) (string, error) {
	return path.Subject("agents.v1." + b.workspace + ".events")
}

// logSubject returns the subject of the entries of a session's log that are no
// events. It is among the subjects of the event stream, and below those of no
// session: the ids of sessions begin with "ses_".
func (b *Bus) logSubject(path event.Path) (string, error) {
	return path.Subject("agents.v1." + b.workspace + ".events.log")
}

// Workspace returns the id of the workspace.
func (b *Bus) Workspace() string { return b.workspace }

// JetStream returns the store's JetStream. Its operations are repeated while the store is
// unavailable.
func (b *Bus) JetStream() jetstream.JetStream { return b.store.JetStream() }

// Conn returns the connection itself, for services on it.
func (b *Bus) Conn() *nats.Conn { return b.store.Conn() }

// Store returns the connection to the store, for what else is stored there and for
// requests to other processes.
func (b *Bus) Store() *Store { return b.store }

// Health returns what is known of the store at the moment.
func (b *Bus) Health() Health { return b.store.Health() }

// Election returns this process's part in running the embedded store. It is nil for an
// external store, and its methods then report that nothing is wrong.
func (b *Bus) Election() *Election { return b.store.Election() }
