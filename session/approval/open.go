// Package approval stores the tool calls that wait for an answer, and the answers.
//
// The approvals are in the bucket AGENT_APPROVALS. Of two answers the first one counts,
// whatever process stores it: [Bucket.Answer].
package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/index"
)

// BucketName is the bucket that holds the approvals of all workspaces.
const BucketName = "AGENT_APPROVALS"

// maxAge is how long approvals are kept. It is long enough to tell latecomers that the
// question is answered.
const maxAge = 7 * 24 * time.Hour

// Bucket is the approvals of a workspace. It is safe for concurrent use.
type Bucket struct {
	bus   *eventbus.Bus
	index *index.Index
	kv    jetstream.KeyValue
}

// Open makes sure of the bucket and returns the approvals of the bus's workspace.
func Open(ctx context.Context, bus *eventbus.Bus, records *index.Index) (*Bucket, error) {
	kv, err := bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      BucketName,
		Description: "tool calls that wait for an answer, and how they were answered, keyed by workspace and id",
		History:     1,
		TTL:         maxAge,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", BucketName, err)
	}
	return &Bucket{bus, records, kv}, nil
}
