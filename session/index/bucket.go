package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/record"
)

// BucketEntry is a key of this workspace in a bucket, with the content that was read.
type BucketEntry struct {
	key     string
	Value   []byte
	rev     uint64
	created time.Time // when it was stored
}

// Remove deletes what is stored of a session besides its log and its approvals. The record
// goes last.
func (x *Index) Remove(ctx context.Context, r *record.Record) error {
	if err := x.bus.PurgePayloads(ctx, r.ID); err != nil {
		return err
	}
	for _, key := range []string{x.markKey(r.Path), x.Key(r.ID)} {
		if err := x.Purge(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Purge removes a key, or all keys that match it, from the bucket of records. Unlike
// [jetstream.KeyValue.Delete], it leaves no mark.
func (x *Bucket) Purge(ctx context.Context, key string) error {
	return x.stream.Purge(ctx, jetstream.WithPurgeSubject(x.subject(key)))
}

// Entries returns the content of a bucket for this workspace. It has every key that exists
// throughout, however often that changes meanwhile.
func (x *Bucket) Entries(ctx context.Context, bucket jetstream.KeyValue) ([]BucketEntry, error) {
	stream, err := x.bus.JetStream().Stream(ctx, "KV_"+bucket.Bucket())
	if err != nil {
		return nil, err
	}
	before := stream.CachedInfo().State.LastSeq
	entries, err := x.content(ctx, stream, bucket)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.LastSeq == before {
		return entries, err
	}
	// A key that has changed meanwhile may have moved beyond the part that was read.
	missing, err := x.Keys(ctx, stream, bucket, "*")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		delete(missing, e.key)
	}
	for key := range missing {
		e, err := bucket.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, BucketEntry{key, e.Value(), e.Revision(), e.Created()})
	}
	return entries, nil
}

// Keys returns the keys of this workspace in a bucket that match a filter, including
// deleted ones.
func (x *Bucket) Keys(ctx context.Context, stream jetstream.Stream, bucket jetstream.KeyValue, filter string) (map[string]bool, error) {
	prefix := "$KV." + bucket.Bucket() + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+x.Key(filter)))
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		keys[strings.TrimPrefix(subject, prefix)] = true
	}
	return keys, nil
}

// content reads the stream below a bucket once. Each key comes once. A deleted one has a
// message without content.
func (x *Bucket) content(ctx context.Context, stream jetstream.Stream, bucket jetstream.KeyValue) ([]BucketEntry, error) {
	prefix := "$KV." + bucket.Bucket() + "."
	var all []BucketEntry
	at := make(map[string]int)
	for m, err := range x.bus.Messages(ctx, stream, prefix+x.Key("*")) {
		if err != nil {
			return nil, err
		}
		e := BucketEntry{strings.TrimPrefix(m.Subject, prefix), m.Data, m.Seq, m.Time}
		if i, again := at[e.key]; again {
			all[i] = e
			continue
		}
		at[e.key] = len(all)
		all = append(all, e)
	}
	return slices.DeleteFunc(all, func(e BucketEntry) bool { return len(e.Value) == 0 }), nil
}

// decodeRecords decodes the records of entries, in their order, on all processors.
func decodeRecords(entries []BucketEntry) ([]*record.Record, error) {
	const least = 500 // for each
	records := make([]*record.Record, len(entries))
	parts := max(1, min(runtime.GOMAXPROCS(0), len(entries)/least))
	errs := make([]error, parts)
	var running sync.WaitGroup
	for part := range parts {
		from, to := len(entries)*part/parts, len(entries)*(part+1)/parts
		running.Go(func() {
			for i := from; i < to && errs[part] == nil; i++ {
				records[i], errs[part] = record.Decode(entries[i].Value)
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// ids returns the ids of all sessions that have a record.
func (x *Bucket) ids(ctx context.Context) ([]string, error) {
	keys, err := x.Keys(ctx, x.stream, x.records, "*")
	ids := make([]string, 0, len(keys))
	for key := range keys {
		ids = append(ids, strings.TrimPrefix(key, x.Key("")))
	}
	return ids, err
}

// All returns the records in the bucket, by id.
func (x *Index) All(ctx context.Context) (map[string]Stored, error) {
	entries, err := x.Entries(ctx, x.records)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	stored := make(map[string]Stored, len(entries))
	records, err := decodeRecords(entries)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		stored[r.ID] = Stored{r, entries[i].rev}
	}
	return stored, nil
}
