package integrity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/log"
)

// Check compares the records in the bucket with the sessions' logs, and looks for what the
// store has lost. It reads the newest messages of the event stream, as many as newest says.
// It reads all of them if newest is 0 or a loss is known.
func (c *Checker) Check(ctx context.Context, newest uint64) (*Check, error) {
	c.index.Settle(ctx, "")
	stored, err := c.index.All(ctx)
	if err != nil {
		return nil, err
	}
	found := &Check{Records: len(stored), Missing: []string{}, Behind: []string{}}
	if found.Streams, err = c.streams(ctx); err != nil {
		return nil, err
	}
	losses, err := c.bus.Election().Losses()
	if err != nil {
		return nil, err
	}
	if newest > 0 && len(losses) == 0 {
		stream, err := c.bus.JetStream().Stream(ctx, eventbus.Stream)
		if err != nil {
			return nil, fmt.Errorf("measuring the stream %s: %w", eventbus.Stream, err)
		}
		if state := stream.CachedInfo().State; state.LastSeq >= state.FirstSeq+newest {
			found.from = state.LastSeq - newest + 1
			found.Unread = found.from - state.FirstSeq
		}
	}
	begun := make(map[string]uint64) // the sequence number of the first entry, by session
	for e, err := range c.bus.Entries(ctx, log.OpenedKind, time.Time{}) {
		if err != nil {
			return nil, err
		}
		r, err := log.DecodeOpened(log.Entry(e))
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
			end, err := c.bus.Last(ctx, row.Path, event.SessionEnd{}.Type())
			if err != nil {
				return nil, err
			}
			if end.Seq > 0 {
				found.Behind = append(found.Behind, r.ID)
			}
		}
	}
	return found, c.findings(ctx, found, stored, begun, losses)
}

// streams returns what each existing stream holds.
func (c *Checker) streams(ctx context.Context) (uses []StreamUse, err error) {
	for _, name := range []string{
		eventbus.Stream, "KV_" + index.BucketName, "KV_" + approval.BucketName, "KV_" + lease.BucketName, eventbus.PayloadStream,
	} {
		stream, err := c.bus.JetStream().Stream(ctx, name)
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
