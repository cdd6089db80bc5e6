package store

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// entry is a key of this workspace in a bucket, as it was when it was read.
type entry struct {
	key     string
	value   []byte
	rev     uint64
	created time.Time // when it was stored
}

// entries returns what a bucket holds of this workspace: every key that is there
// all the while, however often it changes meanwhile.
func (s *Store) entries(ctx context.Context, bucket jetstream.KeyValue) ([]entry, error) {
	stream, err := s.js.Stream(ctx, "KV_"+bucket.Bucket())
	if err != nil {
		return nil, err
	}
	before := stream.CachedInfo().State.LastSeq
	entries, err := s.content(ctx, stream, bucket)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.LastSeq == before {
		return entries, err
	}
	// A key that has changed meanwhile may have moved behind the end of what was read.
	missing, err := s.keys(ctx, stream, bucket, "*")
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
		entries = append(entries, entry{key, e.Value(), e.Revision(), e.Created()})
	}
	return entries, nil
}

// keys returns the keys of this workspace in a bucket that match a filter, deleted ones
// too.
func (s *Store) keys(ctx context.Context, stream jetstream.Stream, bucket jetstream.KeyValue, filter string) (map[string]bool, error) {
	prefix := "$KV." + bucket.Bucket() + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+s.key(filter)))
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		keys[strings.TrimPrefix(subject, prefix)] = true
	}
	return keys, nil
}

// content reads the stream below a bucket once. Each key comes once. What was deleted has
// a message without content.
func (s *Store) content(ctx context.Context, stream jetstream.Stream, bucket jetstream.KeyValue) ([]entry, error) {
	prefix := "$KV." + bucket.Bucket() + "."
	var all []entry
	at := make(map[string]int)
	for m, err := range s.bus.Messages(ctx, stream, prefix+s.key("*")) {
		if err != nil {
			return nil, err
		}
		e := entry{strings.TrimPrefix(m.Subject, prefix), m.Data, m.Seq, m.Time}
		if i, again := at[e.key]; again {
			all[i] = e
			continue
		}
		at[e.key] = len(all)
		all = append(all, e)
	}
	return slices.DeleteFunc(all, func(e entry) bool { return len(e.value) == 0 }), nil
}

// decodeRecords decodes the records of entries, in their order, on all processors.
func decodeRecords(entries []entry) ([]*Record, error) {
	const least = 500 // for each
	records := make([]*Record, len(entries))
	parts := max(1, min(runtime.GOMAXPROCS(0), len(entries)/least))
	errs := make([]error, parts)
	var running sync.WaitGroup
	for part := range parts {
		from, to := len(entries)*part/parts, len(entries)*(part+1)/parts
		running.Go(func() {
			for i := from; i < to && errs[part] == nil; i++ {
				records[i], errs[part] = decodeRecord(entries[i].value)
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
