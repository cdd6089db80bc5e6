package index

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/record"
)

// checkpoint holds the sessions that had not ended at some sequence numbers of the bucket
// of records and of the event stream. The next search reads only later changes. The
// checkpoint is stored in the bucket.
type checkpoint struct {
	Schema  int      `json:"schema"`
	Records uint64   `json:"records"` // in the bucket: all records up to it are closed, except for those in Open
	Events  uint64   `json:"events"`  // in the event stream: all logs that begin up to it have a record
	Open    []string `json:"open"`    // ids
}

const (
	checkpointID = "checkpoint.open" // its key, after the workspace

	// checkpointRecords and checkpointEvents are the numbers of changes after which a new
	// checkpoint is stored. Until then each search reads those changes.
	checkpointRecords = 512
	checkpointEvents  = 4096
)

// readCheckpoint returns the checkpoint, and its revision. Zero values mean there is none.
func (x *Index) readCheckpoint(ctx context.Context) (cp checkpoint, rev uint64, err error) {
	entry, err := x.records.Get(ctx, x.Key(checkpointID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return cp, 0, nil
	}
	if err != nil {
		return cp, 0, err
	}
	if json.Unmarshal(entry.Value(), &cp) != nil || cp.Schema != record.Schema {
		cp = checkpoint{} // of a later version, or damaged: everything is searched
	}
	return cp, entry.Revision(), nil
}

// lastRecord returns the newest sequence number of the bucket of records.
func (x *Index) lastRecord(ctx context.Context) (uint64, error) {
	info, err := x.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}
