package integrity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// endDelay bounds the time from the end in a session's record to the storage of its last
// event.
const endDelay = time.Minute

// IncompleteError says which events of a session are missing, or may be.
type IncompleteError struct {
	SessionID string
	Begin     bool            // its first events are missing
	End       bool            // its session_end is missing
	Losses    []eventbus.Loss // what the store lost while the session ran; empty means no loss is known
}

func (e *IncompleteError) Error() string {
	var b strings.Builder
	switch {
	case e.Begin && e.End:
		b.WriteString("its events are gone")
	case e.Begin:
		b.WriteString("its first events are gone")
	case e.End:
		b.WriteString("its session_end is not stored: its last events are gone")
	default:
		b.WriteString("some of its events may be gone")
	}
	for _, l := range e.Losses {
		fmt.Fprintf(&b, ": the store is damaged: %s", l)
	}
	if len(e.Losses) == 0 {
		b.WriteString(": no damage of the store is known: they were deleted by age (--retain-age), or 'worker doctor --full' finds it")
	}
	return b.String()
}

// Incomplete returns what is missing of a session's own events, as far as the store tells;
// nil means that nothing is known to be. Losses count from its first to its last event. The
// end of a session that has not ended is not missing.
func (c *Checker) Incomplete(ctx context.Context, r *record.Record) (*IncompleteError, error) {
	end, err := c.bus.Last(ctx, r.Path, event.SessionEnd{}.Type())
	if err != nil {
		return nil, err
	}
	var first eventbus.Entry
	for e, err := range c.bus.Log(ctx, r.Path) {
		if err != nil {
			return nil, err
		}
		if first = e; e.Kind != eventbus.FenceKind {
			break
		}
	}
	losses, err := c.bus.Election().Losses()
	if err != nil {
		return nil, err
	}
	oldest, err := c.oldest(ctx)
	if err != nil {
		return nil, err
	}
	over := r.Status.Ended() && (r.Closed || time.Since(r.EndedAt) > endDelay || endLost(r, losses))
	begun := uint64(0)
	if first.Kind == log.OpenedKind {
		begun = first.Seq
	}
	return incomplete(r, begun, end.Seq, over, losses, oldest), nil
}

// oldest returns when the oldest stored event was stored.
func (c *Checker) oldest(ctx context.Context) (time.Time, error) {
	stream, err := c.bus.JetStream().Stream(ctx, eventbus.Stream)
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the oldest event: %w", err)
	}
	if state := stream.CachedInfo().State; state.Msgs > 0 {
		return state.FirstTime, nil
	}
	return time.Now(), nil // none is stored
}

// incomplete returns what is missing of a session. The numbers of the first and the last
// entry of its log are begun and end; 0 means a missing entry. The argument over says that
// the session has ended. The oldest stored event is from the time oldest. Age removes the
// oldest events first: if older ones are left, it has not removed the session's.
func incomplete(r *record.Record, begun, end uint64, over bool, losses []eventbus.Loss, oldest time.Time) *IncompleteError {
	found := &IncompleteError{SessionID: r.ID, Begin: begun == 0, End: end == 0 && over}
	for _, l := range losses {
		if l.Stream != eventbus.Stream || begun > l.Last || end > 0 && end < l.First {
			continue
		}
		if begun == 0 && !l.Before.IsZero() && l.Before.Before(r.CreatedAt) || found.End && l.After.After(r.EndedAt.Add(endDelay)) {
			continue // that was at another time
		}
		found.Losses = append(found.Losses, l)
	}
	if found.Begin && len(found.Losses) == 0 && oldest.Before(r.CreatedAt) && r.Status != record.Completed {
		found.Begin = false // it never existed: the store was away for too long, and the session failed
	}
	if !found.Begin && !found.End && len(found.Losses) == 0 {
		return nil
	}
	return found
}

// endLost reports whether the store has lost the end of an ended session. Then the end,
// which is not stored, will not come either.
func endLost(r *record.Record, losses []eventbus.Loss) bool {
	for _, l := range losses {
		if l.Stream == eventbus.Stream && l.Found.After(r.EndedAt) && !l.After.After(r.EndedAt.Add(endDelay)) && (l.Before.IsZero() || !l.Before.Before(r.EndedAt)) {
			return true
		}
	}
	return false
}
