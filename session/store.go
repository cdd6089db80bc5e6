package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// The buckets and the stream that hold the sessions of all workspaces.
const (
	recordBucket   = "AGENT_SESSIONS"
	approvalBucket = "AGENT_APPROVALS"
	leaseBucket    = "AGENT_WORKERS"
	messageStream  = "AGENT_MESSAGES"
)

// approvalAge is how long approvals are kept: long enough to tell who comes
// late that the question is answered.
const approvalAge = 7 * 24 * time.Hour

// ErrNotFound is returned for a session or an approval that is not stored.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is returned for a part of an id that several ids begin with.
var ErrAmbiguous = errors.New("give more of the id")

// Store keeps the records and messages of a workspace's sessions, and the
// approvals that they wait for.
type Store struct {
	workspace string
	bus       *eventbus.Bus
	js        jetstream.JetStream
	records   jetstream.KeyValue
	approvals jetstream.KeyValue
	leases    jetstream.KeyValue
	messages  jetstream.Stream
}

// OpenStore makes sure of the buckets and the stream and returns the store of
// the bus's workspace.
func OpenStore(ctx context.Context, bus *eventbus.Bus) (*Store, error) {
	s := &Store{workspace: bus.Workspace(), bus: bus, js: bus.JetStream()}
	var err error
	s.records, err = bus.EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      recordBucket,
		Description: "records of agent sessions, keyed by workspace and id",
		History:     1,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", recordBucket, err)
	}
	s.approvals, err = bus.EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      approvalBucket,
		Description: "tool calls that wait for an answer, and how they were answered, keyed by workspace and id",
		History:     1,
		TTL:         approvalAge,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", approvalBucket, err)
	}
	s.leases, err = bus.EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      leaseBucket,
		Description: "processes that are alive, keyed by workspace and boot id",
		History:     1,
		TTL:         leaseTTL,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", leaseBucket, err)
	}
	s.messages, err = bus.EnsureStream(ctx, jetstream.StreamConfig{
		Name:        messageStream,
		Description: "messages of agent sessions",
		Subjects:    []string{"agents.v1.*.messages.*"},
		AllowDirect: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making the stream %s: %w", messageStream, err)
	}
	return s, nil
}

func (s *Store) key(id string) string { return s.workspace + "." + id }

func (s *Store) subject(id string) string { return "agents.v1." + s.workspace + ".messages." + id }

// create stores a new record and returns its revision.
func (s *Store) create(ctx context.Context, r *Record) (uint64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	rev, err := s.records.Create(ctx, s.key(r.ID), data)
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	return rev, nil
}

// errConflict is returned for a record that has changed meanwhile.
var errConflict = errors.New("its record has been changed meanwhile")

// read returns the record of a session and its revision.
func (s *Store) read(ctx context.Context, id string) (*Record, uint64, error) {
	entry, err := s.records.Get(ctx, s.key(id))
	if err != nil {
		return nil, 0, fmt.Errorf("reading session %s: %w", id, err)
	}
	r, err := decodeRecord(entry.Value())
	return r, entry.Revision(), err
}

// update stores r if its stored revision still is rev, and returns the new one.
func (s *Store) update(ctx context.Context, r *Record, rev uint64) (uint64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	next, err := s.records.Update(ctx, s.key(r.ID), data, rev)
	if eventbus.IsConflict(err) {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, errConflict)
	}
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	return next, nil
}

// Get returns the record of a session, or [ErrNotFound]. Part of an id will
// do where only one session's id begins with it; else it is [ErrAmbiguous].
func (s *Store) Get(ctx context.Context, id string) (*Record, error) {
	if !event.ValidID(id) {
		return nil, &NotFoundError{"session", id}
	}
	entry, err := s.records.Get(ctx, s.key(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		records, err := s.List(ctx)
		if err != nil {
			return nil, err
		}
		return byPrefix(records, id, "session", func(r *Record) string { return r.ID })
	}
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return decodeRecord(entry.Value())
}

// List returns the records of all sessions, the newest first.
func (s *Store) List(ctx context.Context) ([]*Record, error) {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	records := make([]*Record, 0, len(entries))
	for _, e := range entries {
		r, err := decodeRecord(e.Value())
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, func(a, b *Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return records, nil
}

// entries returns what a bucket holds of this workspace: every key that is
// there all the while, however often it changes meanwhile.
func (s *Store) entries(ctx context.Context, bucket jetstream.KeyValue) ([]jetstream.KeyValueEntry, error) {
	missing, err := s.keys(ctx, bucket)
	if err != nil {
		return nil, err
	}
	entries, err := s.watched(ctx, bucket)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		delete(missing, e.Key())
	}
	for key := range missing { // changed while it was read: it moved behind the end of what is read
		e, err := bucket.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// keys returns the keys of this workspace in a bucket, deleted ones too.
func (s *Store) keys(ctx context.Context, bucket jetstream.KeyValue) (map[string]bool, error) {
	stream, err := s.js.Stream(ctx, "KV_"+bucket.Bucket())
	if err != nil {
		return nil, err
	}
	prefix := "$KV." + bucket.Bucket() + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+s.key("*")))
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		keys[strings.TrimPrefix(subject, prefix)] = true
	}
	return keys, nil
}

// watched returns what a watch of a bucket finds there when it begins. Each key
// comes once.
func (s *Store) watched(ctx context.Context, bucket jetstream.KeyValue) ([]jetstream.KeyValueEntry, error) {
	watch, err := bucket.Watch(ctx, s.key("*"), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	var entries []jetstream.KeyValueEntry
	at := make(map[string]int)
	for {
		select {
		case e, ok := <-watch.Updates():
			if !ok {
				return nil, errClosed
			}
			if e == nil { // all that is stored has been read
				return entries, watch.Stop()
			}
			if i, ok := at[e.Key()]; ok { // it changed meanwhile
				entries[i] = e
				continue
			}
			at[e.Key()] = len(entries)
			entries = append(entries, e)
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), watch.Stop())
		}
	}
}

var errClosed = errors.New("the connection to the event store was closed")

// append stores a message at the end of its session's conversation.
func (s *Store) append(ctx context.Context, m *Message) error {
	data, err := s.encodeMessage(ctx, m)
	if err == nil {
		_, err = s.js.Publish(ctx, s.subject(m.SessionID), data, jetstream.WithMsgID(m.ID))
	}
	if err != nil {
		return fmt.Errorf("storing a message of session %s: %w", m.SessionID, err)
	}
	return nil
}

// Messages returns the conversation of a session, the oldest message first.
func (s *Store) Messages(ctx context.Context, id string) ([]*Message, error) {
	if !event.ValidID(id) {
		return nil, &NotFoundError{"session", id}
	}
	var messages []*Message
	for data, err := range s.bus.Read(ctx, s.messages, s.subject(id)) {
		var m *Message
		if err == nil {
			m, err = s.decodeMessage(ctx, data)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the messages of session %s: %w", id, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// NotFoundError is an [ErrNotFound] that says what is not stored.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string {
	if len(e.ID) > event.MaxID {
		return fmt.Sprintf("no such %s: %.20q…, of %d bytes, is no id: those have %d at most", e.What, e.ID, len(e.ID), event.MaxID)
	}
	return fmt.Sprintf("no such %s: %q", e.What, e.ID)
}

// Is reports whether target is [ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// byPrefix returns the item whose id is prefix, or alone begins with it.
func byPrefix[T any](items []*T, prefix, what string, id func(*T) string) (*T, error) {
	var found []*T
	for _, item := range items {
		switch {
		case id(item) == prefix:
			return item, nil
		case strings.HasPrefix(id(item), prefix):
			found = append(found, item)
		}
	}
	switch {
	case len(found) == 0 || prefix == "":
		return nil, &NotFoundError{what, prefix}
	case len(found) == 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s is the start of %d %s ids (%s, …): %w", prefix, len(found), what, id(found[0]), ErrAmbiguous)
}

func decodeRecord(data []byte) (*Record, error) {
	r := new(Record)
	return r, migrate(recordKind, data, r)
}
