package index

import (
	"context"
	"fmt"
	"iter"

	"github.com/agentworker/worker/session/record"
)

// changesPart is how many records are read at once in the order of their changes.
const changesPart = 512

// ByChange yields the stored records, the least recently changed one first. An error is the
// last value.
func (x *Index) ByChange(ctx context.Context) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		x.Settle(ctx, "")
		info, err := x.stream.Info(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("listing sessions: %w", err))
			return
		}
		last := info.State.LastSeq
		for from := info.State.FirstSeq; from <= last; from += changesPart {
			for m, err := range x.bus.Range(ctx, x.stream, from, min(from+changesPart-1, last)) {
				if err != nil {
					yield(nil, err)
					return
				}
				if id, mark := x.parseKey(m.Subject); id == "" || mark || len(m.Data) == 0 {
					continue
				}
				if r, err := record.Decode(m.Data); !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}
