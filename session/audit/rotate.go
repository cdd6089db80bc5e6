package audit

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	lookEvery = time.Hour
	lookBytes = 16 // of so many parts of what is kept, each is a reason to look
)

// rotate removes the oldest records if the log exceeds its limits. Before that it
// stores a record with the hash of the last removed one, so that the rest verifies.
func (c *chain) rotate(ctx context.Context, l *Log) error {
	o := l.options
	full := o.MaxBytes > 0 && uint64(c.since) >= o.MaxBytes/lookBytes
	now := o.Now()
	if o.MaxBytes == 0 && o.MaxAge == 0 || !full && now.Sub(c.looked) < lookEvery {
		return nil
	}
	c.looked, c.since = now, 0
	info, err := l.stream.Info(ctx)
	if err != nil {
		return err
	}
	keep, err := l.firstKept(ctx, info.State)
	if err != nil || keep <= info.State.FirstSeq {
		return err
	}
	last, err := l.stream.GetMsg(ctx, keep-1)
	if err != nil {
		return err
	}
	end, err := lastRecord(last.Data)
	if err != nil { // nothing is taken out that would show what was done
		return fmt.Errorf("message %d %w: nothing is taken out", keep-1, err)
	}
	out := Head{end.N, end.Hash}
	r := Record{Time: time.Now().UTC(), Kind: Rotation, User: o.User, Rotated: &out}
	if _, err := c.append(ctx, l, []Record{r.cleaned()}); err != nil {
		return err
	}
	return l.stream.Purge(ctx, jetstream.WithPurgeSequence(keep))
}

// firstKept returns the sequence number of the first message to keep. The last one is
// always kept.
func (l *Log) firstKept(ctx context.Context, has jetstream.StreamState) (uint64, error) {
	keep, o := has.FirstSeq, l.options
	count := has.LastSeq - has.FirstSeq + 1
	if has.Msgs < 2 {
		return keep, nil
	}
	if o.MaxBytes > 0 && has.Bytes > o.MaxBytes {
		share := 0.75 * float64(o.MaxBytes) / float64(has.Bytes) // so that it is not done for every message
		keep = has.LastSeq - uint64(share*float64(count))
	}
	if oldest := o.Now().Add(-o.MaxAge); o.MaxAge > 0 && has.FirstTime.Before(oldest) {
		var failed error
		i := sort.Search(int(count)-1, func(i int) bool {
			m, err := l.stream.GetMsg(ctx, has.FirstSeq+uint64(i))
			if errors.Is(err, jetstream.ErrMsgNotFound) { // lost
				return false
			}
			if err != nil {
				failed = err
				return true
			}
			return !m.Time.Before(oldest)
		})
		if failed != nil {
			return 0, failed
		}
		keep = max(keep, has.FirstSeq+uint64(i))
	}
	return min(keep, has.LastSeq), nil
}
