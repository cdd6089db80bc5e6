package natsstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// EnsureStream opens a stream, and makes it if it does not exist. In an external server it
// gets the configured number of replicas. A stream that exists there keeps the settings of its
// operator. It is refused with a [*StreamError] if it would lose what is stored in it.
// [Health.Findings] has the rest.
func (s *Store) EnsureStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Replicas = s.replicasOf(cfg.Replicas)
	cfg.Metadata = s.madeAs(cfg)
	return s.js.stream(ensure(ctx, s, cfg,
		func(ctx context.Context) (jetstream.Stream, error) { return s.js.JetStream.Stream(ctx, cfg.Name) },
		func(ctx context.Context) (jetstream.Stream, error) { return s.createStream(ctx, cfg) }))
}

// createStream makes a stream. A server before 2.14 gets none of the settings that it
// does not know: it refuses a request with them, or leaves them out.
func (s *Store) createStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := s.js.JetStream.CreateOrUpdateStream(ctx, cfg)
	var refused *jetstream.APIError
	if cfg.AllowBatchPublish && errors.As(err, &refused) && refused.ErrorCode == codeInvalidJSON {
		old := cfg
		old.AllowBatchPublish = false
		stream, err = s.js.JetStream.CreateOrUpdateStream(ctx, old)
	}
	if err == nil && !s.Embedded() {
		err = s.record(checkStream(stream.CachedInfo().Config, cfg))
	}
	return stream, err
}

// EnsureBucket does the same for a key-value bucket.
func (s *Store) EnsureBucket(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	cfg.Replicas = s.replicasOf(cfg.Replicas)
	cfg.Metadata = s.madeAs(cfg)
	return s.js.bucket(ensure(ctx, s, bucketStream(cfg),
		func(ctx context.Context) (jetstream.KeyValue, error) { return s.js.JetStream.KeyValue(ctx, cfg.Bucket) },
		func(ctx context.Context) (jetstream.KeyValue, error) {
			return s.js.JetStream.CreateOrUpdateKeyValue(ctx, cfg)
		}))
}

// EnsureObjects does the same for an object store.
func (s *Store) EnsureObjects(ctx context.Context, cfg jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	cfg.Replicas = s.replicasOf(cfg.Replicas)
	cfg.Metadata = s.madeAs(cfg)
	return ensure(ctx, s, objectStream(cfg),
		func(ctx context.Context) (jetstream.ObjectStore, error) {
			return s.js.JetStream.ObjectStore(ctx, cfg.Bucket)
		},
		func(ctx context.Context) (jetstream.ObjectStore, error) {
			return s.js.JetStream.CreateOrUpdateObjectStore(ctx, cfg)
		})
}

// madeKey is the entry in a stream's metadata that says with which settings a worker has
// made it, or changed it last. In the embedded store nobody else does. A stream that has
// them is opened without a request to change it: for that the server writes to the disk,
// and reads the first block.
const madeKey = "agentworker_made"

// madeAs returns the metadata of what a worker makes with the settings cfg; none in an
// external server.
func (s *Store) madeAs(cfg any) map[string]string {
	if !s.Embedded() {
		return nil
	}
	data, err := json.Marshal(cfg)
	if err != nil {
		return nil // it has no value that can't be encoded
	}
	return map[string]string{madeKey: strconv.FormatUint(uint64(crc32.ChecksumIEEE(data)), 36)}
}

// replicasOf returns how many replicas the store asks for when it makes a stream;
// 0 means as many as the server likes.
func (s *Store) replicasOf(asked int) int {
	if s.Embedded() {
		return asked
	}
	return cmp.Or(asked, s.replicas)
}

// ensure opens or makes what is kept in the stream want. A stream that exists in an external
// server is checked, and not changed.
func ensure[T any](ctx context.Context, s *Store, want jetstream.StreamConfig, open, create func(context.Context) (T, error)) (T, error) {
	if s.Embedded() {
		return retryDefault(ctx, s.retrier, func(ctx context.Context) (T, error) {
			has, err := s.js.JetStream.Stream(ctx, want.Name)
			if made := want.Metadata[madeKey]; err == nil && made != "" && has.CachedInfo().Config.Metadata[madeKey] == made {
				return open(ctx)
			}
			return create(ctx)
		})
	}
	ctx, cancel := context.WithTimeout(ctx, clusterStartTimeout)
	defer cancel()
	want.Replicas = s.replicasOf(want.Replicas)
	responders := time.Now().Add(noResponderTimeout)
	var refusal error // the last one: it says more than the end of the time within the next attempt
	got, err := retry(ctx, s.retrier, limits{attempt: clusterAttemptTimeout}, func(ctx context.Context) (got T, err error) {
		has, err := s.js.JetStream.Stream(ctx, want.Name)
		switch {
		case err == nil:
			if got, err = open(ctx); err == nil {
				err = s.record(checkStream(has.CachedInfo().Config, want))
			}
		case errors.Is(err, jetstream.ErrStreamNotFound):
			got, err = create(ctx)
		}
		if errors.Is(err, nats.ErrNoResponders) && time.Now().After(responders) {
			err = errNoJetStream
		}
		if errors.As(err, new(*jetstream.APIError)) {
			refusal = err
		}
		return got, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(refusal, err)
	}
	if last := s.conn.LastError(); err != nil && Transient(err) && last != nil {
		err = fmt.Errorf("%w (%w)", err, last) // the server reports a missing permission apart from the request
	}
	return got, explainJetStream(err)
}

// record keeps what is wrong with a stream for [Health.Findings], or returns a
// [*StreamError] if any of it is fatal.
func (s *Store) record(findings []Finding) error {
	var fatal []Finding
	for _, f := range findings {
		if f.Fatal {
			fatal = append(fatal, f)
			continue
		}
		s.findingsMu.Lock()
		if !slices.Contains(s.findings, f) {
			s.findings = append(s.findings, f)
		}
		s.findingsMu.Unlock()
	}
	if len(fatal) > 0 {
		return &StreamError{fatal}
	}
	return nil
}
