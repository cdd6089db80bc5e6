package integrity

import (
	"context"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Rest is what a session's stream still has from a sequence number on.
type Rest struct {
	More  bool      // there is more, stored or to come
	Live  bool      // more may come
	Until time.Time // when the stream ends at the latest; zero means not known yet
}

// Remaining returns what a session's stream still has from a sequence number on. An error
// comes from the event store.
func (c *Checker) Remaining(ctx context.Context, record *record.Record, from uint64) (Rest, error) {
	end, err := c.bus.Last(ctx, record.Path, event.SessionEnd{}.Type())
	switch {
	case err != nil:
		return Rest{}, fmt.Errorf("looking for the end of session %s: %w", record.ID, err)
	case end.Seq > 0:
		return Rest{More: from <= end.Seq}, nil
	}
	// The end is not stored yet, or the store has dropped it by age.
	rest := Rest{More: true, Live: true}
	if record.Status.Ended() {
		losses, err := c.bus.Election().Losses()
		if err != nil {
			return Rest{}, err
		}
		rest.Until = record.EndedAt.Add(endDelay)
		rest.Live = time.Now().Before(rest.Until) && !endLost(record, losses)
	}
	return rest, nil
}
