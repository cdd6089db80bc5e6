// Package index keeps the records of sessions in a bucket, for lists and look-ups.
//
// A session is its log, in the event stream. The bucket AGENT_SESSIONS is an index of these
// logs: the process of a session writes the record after the log, with a [Writer]. The
// bucket also has marks, which fix the order of lists, and a checkpoint of the sessions
// that have not ended.
package index

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// BucketName is the bucket that holds the records of all workspaces.
const BucketName = "AGENT_SESSIONS"

// Bucket holds the keys of one workspace in the bucket of records. Other packages keep
// keys of their own in it. It is safe for concurrent use.
type Bucket struct {
	bus     *eventbus.Bus
	records jetstream.KeyValue
	stream  jetstream.Stream // below records
}

// Index is the records of a workspace's sessions. It is safe for concurrent use.
type Index struct {
	Bucket
	writer *Writer // of a process that runs sessions; otherwise nil
}

// Open makes sure of the bucket and returns the index of the bus's workspace.
func Open(ctx context.Context, bus *eventbus.Bus) (_ *Index, err error) {
	x := &Index{Bucket: Bucket{bus: bus}}
	x.records, err = bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      BucketName,
		Description: "records of agent sessions, keyed by workspace and id",
		History:     1,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", BucketName, err)
	}
	if x.stream, err = bus.JetStream().Stream(ctx, "KV_"+BucketName); err != nil {
		return nil, fmt.Errorf("opening the bucket %s: %w", BucketName, err)
	}
	return x, nil
}

// KV returns the bucket. Other packages may keep keys in it that [Bucket.Key] makes.
func (x *Bucket) KV() jetstream.KeyValue { return x.records }

// Stream returns the stream below the bucket.
func (x *Bucket) Stream() jetstream.Stream { return x.stream }
