package transcript

import (
	"context"
	"slices"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// maxNested is how many nested sessions a transcript has with their messages. Those nested
// in others do not count.
const maxNested = 100

// nest adds to a session's messages the nested sessions that their calls have made.
func (rd *Reader) nest(ctx context.Context, r *record.Record, messages []*log.Message) error {
	byID := make(map[string]*log.Message)
	for _, m := range messages {
		if m.Role == model.Assistant && len(m.ToolCalls) > 0 {
			byID[m.ID] = m
		}
	}
	if len(byID) == 0 {
		return nil
	}
	tree, err := rd.index.Tree(ctx, r.Path)
	if err != nil {
		return err
	}
	n := 0
	for _, below := range slices.Backward(tree) { // the oldest first
		m := byID[below.ParentMessageID]
		if below.ParentID != r.ID || !below.Nested || m == nil {
			continue
		}
		nested := &log.Nested{Record: below}
		if n++; n <= maxNested {
			if nested.Messages, err = rd.Messages(ctx, below.ID); err != nil {
				return err
			}
		}
		m.Nested = append(m.Nested, nested)
	}
	return nil
}
