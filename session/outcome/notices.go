package outcome

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// EndNotes returns what a worker has to say of the end of a session, as it stands behind
// what the session says: all but the outcome itself. answer is empty unless it has
// completed.
type EndNotes func(r *record.Record, answer string) string

// Notice is the message to a session that tells of the end of one that ran in its
// background.
type Notice struct{ ID, Text string }

// Untold returns the messages that tell a session of the ends of its children in the
// background, as far as its log does not have them.
func (n *Notices) Missing(ctx context.Context, r *record.Record, state *log.State) (notices []Notice, err error) {
	below, err := n.index.Tree(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	for _, child := range slices.Backward(below) { // the oldest first
		if child.ParentID != r.ID || !child.Background || !child.Status.Ended() || state.HasDelivered(NoticeID(child.ID)) {
			continue
		}
		text, err := n.endText(ctx, child)
		if err != nil {
			return nil, err
		}
		if text != "" {
			notices = append(notices, Notice{NoticeID(child.ID), text})
		}
	}
	return notices, nil
}

// tellEnds adds to the log of a session that is ended in place of its process what
// that has not told it of the ends of its children in the background.
func (n *Notices) AppendTo(ctx context.Context, p *eventbus.Publisher, state *log.State, r *record.Record) error {
	notices, err := n.Missing(ctx, r, state)
	if err != nil {
		return err
	}
	for _, n := range notices {
		if err := log.MessageEntry(n.ID, n.Text).AppendTo(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// endText is the message that tells of the end of a session; empty means none is needed.
func (n *Notices) endText(ctx context.Context, r *record.Record) (string, error) {
	element, text, answer := "task_error", "", ""
	if r.Status != record.Completed {
		state, err := n.index.State(ctx, r.Path)
		if err != nil {
			return "", err
		}
		text = state.Latest(WithPartial(cmp.Or(r.Error, "the session is "+string(r.Status)), state.Partial))
	} else {
		turn, err := n.transcripts.LastTurn(ctx, r)
		if err != nil {
			return "", err
		}
		element, text = "task_result", "[The answer is not stored any more.]"
		if turn != nil && turn.Message.Text != "" {
			text, answer = turn.Message.Text, turn.Message.Text
		}
		if Skipped(text) {
			return "", nil
		}
	}
	told := Element(element, r.Agent, r.Worktree.Below(text, r.ID))
	if n.EndNotes != nil {
		told += n.EndNotes(r, answer)
	}
	return EndMessage(r, r.Status, told), nil
}
