package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/lease"
)

// The buckets that hold the sessions of all workspaces.
const (
	recordBucket   = "AGENT_SESSIONS"
	approvalBucket = "AGENT_APPROVALS"
)

// approvalAge is how long approvals are kept: long enough to tell who comes
// late that the question is answered.
const approvalAge = 7 * 24 * time.Hour

// WriteTimeout bounds a write to the store that has to happen even though the
// session's own context has ended.
const WriteTimeout = 10 * time.Second

// ErrNotFound is returned for a session or an approval that is not stored.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is returned for a part of an id that several ids begin with.
var ErrAmbiguous = errors.New("give more of the id")

// Store keeps the records and messages of a workspace's sessions, and the
// approvals that they wait for.
type Store struct {
	workspace    string
	bus          *eventbus.Bus
	js           jetstream.JetStream
	records      jetstream.KeyValue
	recordStream jetstream.Stream // below records
	approvals    jetstream.KeyValue
	leases       *lease.Bucket
	index        *Index          // of a process that runs sessions; else nil
	stuck        sync.Map        // ids of sessions that this process has taken over, and could neither go on with nor end
	stopGrace    time.Duration   // see ForceStops; 0 means [StopGrace]
	endNotes     EndNotes        // nil means there are none
	ended        func(*Record)   // see TellEnds; nil means nobody is told
	beforeEnd    func(id string) // for tests, between the claim of a record and its session's end; nil means not called
}

// Open makes sure of the buckets and the stream and returns the store of
// the bus's workspace.
func Open(ctx context.Context, bus *eventbus.Bus) (*Store, error) {
	s := &Store{workspace: bus.Workspace(), bus: bus, js: bus.JetStream()}
	if err := bus.Election().Opening(ctx, s.openAll); err != nil {
		return nil, err
	}
	return s, nil
}

// openAll makes sure of what s keeps open.
func (s *Store) openAll(ctx context.Context) (err error) {
	bus := s.bus
	s.records, err = bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      recordBucket,
		Description: "records of agent sessions, keyed by workspace and id",
		History:     1,
	})
	if err != nil {
		return fmt.Errorf("making the bucket %s: %w", recordBucket, err)
	}
	if s.recordStream, err = s.js.Stream(ctx, "KV_"+recordBucket); err != nil {
		return fmt.Errorf("opening the bucket %s: %w", recordBucket, err)
	}
	s.approvals, err = bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      approvalBucket,
		Description: "tool calls that wait for an answer, and how they were answered, keyed by workspace and id",
		History:     1,
		TTL:         approvalAge,
	})
	if err != nil {
		return fmt.Errorf("making the bucket %s: %w", approvalBucket, err)
	}
	if s.leases, err = lease.Open(ctx, bus); err != nil {
		return err
	}
	return nil
}

// Leases returns the leases of the processes that run sessions of the workspace.
func (s *Store) Leases() *lease.Bucket { return s.leases }

func (s *Store) key(id string) string { return s.workspace + "." + id }

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

// Taken returns the record of a session, of a whole id, if another process than that of
// a boot id has ended it, or goes on with it; else nil.
func (s *Store) Taken(ctx context.Context, id, bootID string) (*Record, error) {
	r, _, err := s.read(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) { // not stored yet
		return nil, nil
	}
	if err != nil || r.EndedBy == "" && r.BootID == bootID {
		return nil, err
	}
	return r, nil
}

// update stores r if its stored revision still is rev, and returns the new one.
// rev 0: if no record of the session is stored; its mark is stored before.
func (s *Store) update(ctx context.Context, r *Record, rev uint64) (uint64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	if rev == 0 {
		if err := s.mark(ctx, r); err != nil {
			return 0, err
		}
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

// Get returns the record of a session, or [ErrNotFound]. The beginning of an id
// is enough if only one session's id begins with it; else the error is
// [ErrAmbiguous].
func (s *Store) Get(ctx context.Context, id string) (*Record, error) {
	if !event.ValidID(id) {
		return nil, &NotFoundError{"session", id}
	}
	s.settle(ctx, id)
	entry, err := s.records.Get(ctx, s.key(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		var found string
		if found, err = s.byStart(ctx, id); errors.Is(err, ErrNotFound) {
			return s.begun(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		entry, err = s.records.Get(ctx, s.key(found))
	}
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	r, err := decodeRecord(entry.Value())
	if err != nil {
		return nil, err
	}
	return s.current(ctx, r)
}

// byStart returns the id of the session whose id alone begins with start.
func (s *Store) byStart(ctx context.Context, start string) (string, error) {
	s.settle(ctx, "")
	ids, err := s.ids(ctx)
	if err != nil {
		return "", fmt.Errorf("looking for session %s: %w", start, err)
	}
	return byPrefix(newestRuns(ids, start), start, "session", func(id string) string { return id })
}

// begun returns the record of a session that has only just begun: its log is
// there, and its record not yet.
func (s *Store) begun(ctx context.Context, id string) (*Record, error) {
	open, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		if o.ID == id {
			state, err := s.State(ctx, o.Path)
			if err != nil {
				return nil, err
			}
			return state.recordOr(o.Record), nil
		}
	}
	r, _, err := s.read(ctx, id) // it may have come meanwhile
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, &NotFoundError{"session", id}
	}
	if err != nil {
		return nil, err
	}
	return s.current(ctx, r)
}

// settle has the records of this process's sessions stored as they are now. id
// empty means of all.
func (s *Store) settle(ctx context.Context, id string) {
	if s.index != nil {
		s.index.settle(ctx, id)
	}
}

// current returns the record of a session as its log has it if that has ended:
// who has seen session_end finds the session ended, though the bucket is behind.
func (s *Store) current(ctx context.Context, r *Record) (*Record, error) {
	if r.Closed {
		return r, nil
	}
	end, err := s.bus.Last(ctx, r.Path, event.SessionEnd{}.Type())
	if err != nil || end.Seq == 0 {
		return r, err
	}
	state, err := s.State(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	return state.recordOr(r), nil
}

// NotFoundError is an [ErrNotFound] that says what is not stored.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string {
	if len(e.ID) > event.MaxID {
		return fmt.Sprintf("no such %s: %.20q…, of %d bytes, is not an id: an id has at most %d bytes", e.What, e.ID, len(e.ID), event.MaxID)
	}
	return fmt.Sprintf("no such %s: %q", e.What, e.ID)
}

// Is reports whether target is [ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// byPrefix returns the item whose id is prefix, or alone begins with it.
func byPrefix[T any](items []T, prefix, what string, id func(T) string) (none T, _ error) {
	var found []T
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
		return none, &NotFoundError{what, prefix}
	case len(found) == 1:
		return found[0], nil
	}
	return none, fmt.Errorf("%s is the start of %d %s ids (%s, …): %w", prefix, len(found), what, id(found[0]), ErrAmbiguous)
}
