package approval

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// FollowNew returns the stream of the session at the end of path from now on. It begins
// with the questions of the session, and of all below it, that wait for an answer. Then
// comes each event after since, the newest sequence number at the time of the call, without
// gap or duplicate. It ends after the session's session_end, or immediately if that is
// stored already. An error is its last value.
func (b *Bucket) FollowNew(ctx context.Context, path event.Path) (since uint64, stream iter.Seq2[eventbus.Delivery, error], err error) {
	// A question that is pending after now was asked at or before it, or its
	// event is a new one.
	now, err := b.bus.Newest(ctx)
	if err != nil {
		return 0, nil, err
	}
	end, err := b.bus.Last(ctx, path, event.SessionEnd{}.Type())
	if err != nil {
		return 0, nil, err
	}
	if end.Seq > 0 {
		return now, func(func(eventbus.Delivery, error) bool) {}, nil
	}
	asked, err := b.pendingQuestions(ctx, path, now)
	if err != nil {
		return 0, nil, err
	}
	return now, func(yield func(eventbus.Delivery, error) bool) {
		for _, d := range asked {
			if !yield(d, nil) {
				return
			}
		}
		for d, err := range b.bus.Follow(ctx, path, &eventbus.FollowOptions{From: now + 1, Live: true}) {
			if !yield(d, err) || err != nil || d.Ends() {
				return
			}
		}
	}, nil
}

// pendingQuestions returns the events of the approvals that wait, up to a sequence number,
// as the stream of path's session shows them.
func (b *Bucket) pendingQuestions(ctx context.Context, path event.Path, upTo uint64) ([]eventbus.Delivery, error) {
	pending, err := b.Pending(ctx)
	if err != nil {
		return nil, err
	}
	waits := make(map[string]bool)
	sessions := make(map[string]event.Path)
	for _, a := range pending {
		if len(a.Path) >= len(path) && slices.Equal(a.Path[:len(path)], path) {
			waits[a.ID] = true
			sessions[a.SessionID] = a.Path
		}
	}
	var found []eventbus.Delivery
	for _, of := range sessions {
		for _, asks := range []event.Event{event.ToolApprovalRequired{}, event.QuestionAsked{}} {
			for d, err := range b.bus.Stored(ctx, path, of, asks.Type(), 0) {
				if err != nil {
					return nil, err
				}
				id, err := approvalOf(d)
				if err != nil {
					return nil, fmt.Errorf("event %d: %w", d.Seq, err)
				}
				if waits[id] && d.Seq <= upTo {
					found = append(found, d)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b eventbus.Delivery) int { return cmp.Compare(a.Seq, b.Seq) })
	return found, nil
}

// approvalOf returns the id of the approval that an event requires, in whatever envelopes;
// empty means it requires none.
func approvalOf(d eventbus.Delivery) (string, error) {
	_, ev, err := d.Event()
	if err != nil {
		return "", err
	}
	switch ev := ev.(type) {
	case event.ToolApprovalRequired:
		return ev.ApprovalID, nil
	case event.QuestionAsked:
		return ev.QuestionID, nil
	}
	return "", nil
}
