package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/lease"
)

// Check is what [Store.Check] finds. Its JSON is camelCase.
type Check struct {
	Streams []StreamUse `json:"streams"`
	Logs    int         `json:"logs"`    // sessions of the workspace that have a log
	Records int         `json:"records"` // of the workspace, in the bucket
	Missing []string    `json:"missing"` // ids of logs without a record
	Behind  []string    `json:"behind"`  // ids of records that do not tell of the end that is in the log

	// Unread is how many messages of the event stream, the oldest, were not looked at for
	// content that is gone.
	Unread uint64 `json:"unread"`
	from   uint64 // the first one that is

	Findings []Finding `json:"findings"` // all that is wrong, with what to do
}

// Finding is one thing that is wrong with the store.
type Finding struct {
	Kind     string         `json:"kind"` // loss, missing, behind, incomplete or payload
	Text     string         `json:"text"`
	Advice   string         `json:"advice"`
	Sessions []string       `json:"sessions,omitempty"` // ids of those that it is about
	Loss     *eventbus.Loss `json:"loss,omitempty"`
	Seq      uint64         `json:"seq,omitempty"` // of the event that it is about
}

// StreamUse is what a stream of the store holds, of all workspaces.
type StreamUse struct {
	Name     string `json:"name"` // KV_… that of a bucket, OBJ_… that of an object store
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// Check compares the records in the bucket with the logs of the sessions, and looks
// for what the store has lost. It reads so many of the newest messages of the event
// stream; 0, or where something is known to be lost: all.
func (s *Store) Check(ctx context.Context, newest uint64) (*Check, error) {
	s.settle(ctx, "")
	stored, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	found := &Check{Records: len(stored), Missing: []string{}, Behind: []string{}}
	if found.Streams, err = s.streams(ctx); err != nil {
		return nil, err
	}
	losses, err := s.bus.Election().Losses()
	if err != nil {
		return nil, err
	}
	if newest > 0 && len(losses) == 0 {
		stream, err := s.js.Stream(ctx, eventbus.Stream)
		if err != nil {
			return nil, fmt.Errorf("measuring the stream %s: %w", eventbus.Stream, err)
		}
		if state := stream.CachedInfo().State; state.LastSeq >= state.FirstSeq+newest {
			found.from = state.LastSeq - newest + 1
			found.Unread = found.from - state.FirstSeq
		}
	}
	begun := make(map[string]uint64) // the sequence number of the first entry, by session
	for e, err := range s.bus.Entries(ctx, openedKind, time.Time{}) {
		if err != nil {
			return nil, err
		}
		r, err := decodeOpened(e)
		if err != nil {
			return nil, err
		}
		begun[r.ID] = e.Seq
		found.Logs++
		row, ok := stored[r.ID]
		switch {
		case !ok:
			found.Missing = append(found.Missing, r.ID)
		case !row.Closed:
			end, err := s.bus.Last(ctx, row.Path, event.SessionEnd{}.Type())
			if err != nil {
				return nil, err
			}
			if end.Seq > 0 {
				found.Behind = append(found.Behind, r.ID)
			}
		}
	}
	return found, s.findings(ctx, found, stored, begun, losses)
}

// streams returns what the streams that exist hold.
func (s *Store) streams(ctx context.Context) (uses []StreamUse, err error) {
	for _, name := range []string{
		eventbus.Stream, "KV_" + recordBucket, "KV_" + approvalBucket, "KV_" + lease.BucketName, eventbus.PayloadStream,
	} {
		stream, err := s.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("measuring the stream %s: %w", name, err)
		}
		state := stream.CachedInfo().State
		uses = append(uses, StreamUse{name, state.Msgs, state.Bytes})
	}
	return uses, nil
}

// Rebuild makes the records in the bucket anew from the logs of the sessions, and
// returns how many it has changed or added. Of a session that runs the record
// stays its process's. It leaves records alone whose log is gone.
func (s *Store) Rebuild(ctx context.Context) (changed int, err error) {
	s.settle(ctx, "")
	stored, err := s.stored(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err == nil { // it is all there again, as far as the logs have it
			err = s.bus.Election().Acknowledge("KV_" + recordBucket)
		}
	}()
	for e, err := range s.bus.Entries(ctx, openedKind, time.Time{}) {
		if err != nil {
			return changed, err
		}
		r, err := decodeOpened(e)
		if err != nil {
			return changed, err
		}
		done, err := s.rebuild(ctx, r, stored[r.ID])
		switch {
		case errors.Is(err, errConflict): // its process has written it meanwhile
		case err != nil:
			return changed, fmt.Errorf("rebuilding the record of session %s: %w", r.ID, err)
		case done:
			changed++
		}
	}
	return changed, s.remarkAll(ctx)
}

// rebuild makes the record of one session from its log. has is what is stored.
func (s *Store) rebuild(ctx context.Context, opened *Record, has orphan) (changed bool, err error) {
	state, err := s.State(ctx, opened.Path)
	if err != nil {
		return false, err
	}
	r := &state.Record
	if has.Record != nil && !r.Closed {
		return false, nil
	}
	if has.Record != nil {
		is, err := json.Marshal(has.Record)
		if err != nil {
			return false, err
		}
		if want, err := json.Marshal(r); err != nil || bytes.Equal(is, want) {
			return false, err
		}
	}
	_, err = s.update(ctx, r, has.rev)
	return err == nil, err
}

// stored returns the records in the bucket, by id.
func (s *Store) stored(ctx context.Context) (map[string]orphan, error) {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	stored := make(map[string]orphan, len(entries))
	records, err := decodeRecords(entries)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		stored[r.ID] = orphan{r, entries[i].rev}
	}
	return stored, nil
}
