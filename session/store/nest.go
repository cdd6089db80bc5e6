package store

import (
	"context"
	"slices"

	"github.com/agentworker/worker/model"
)

// Nested is a session whose transcript nests in that of its parent.
type Nested struct {
	*Record
	Messages []*Message `json:"messages"` // nil of one beyond the first [maxNested]
}

// maxNested is how many sessions nest in a transcript with their messages, those within
// others not counted.
const maxNested = 100

// nest adds to the messages of a session those that their calls have made.
func (s *Store) nest(ctx context.Context, r *Record, messages []*Message) error {
	byID := make(map[string]*Message)
	for _, m := range messages {
		if m.Role == model.Assistant && len(m.ToolCalls) > 0 {
			byID[m.ID] = m
		}
	}
	if len(byID) == 0 {
		return nil
	}
	tree, err := s.Tree(ctx, r.Path)
	if err != nil {
		return err
	}
	n := 0
	for _, below := range slices.Backward(tree) { // the oldest first
		m := byID[below.ParentMessageID]
		if below.ParentID != r.ID || !below.Nested || m == nil {
			continue
		}
		nested := &Nested{Record: below}
		if n++; n <= maxNested {
			if nested.Messages, err = s.Messages(ctx, below.ID); err != nil {
				return err
			}
		}
		m.Nested = append(m.Nested, nested)
	}
	return nil
}
