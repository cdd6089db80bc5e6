package outcome

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// EndNotes returns what a worker adds to the message about a session's end. It follows the
// session's own text, and does not repeat the outcome. answer is empty unless the session
// has completed.
type EndNotes func(r *record.Record, answer string) string

// Notice is the message that tells a session of the end of one in its background.
type Notice struct{ ID, Text string }

// Missing returns the notices about a session's ended background children that its log
// lacks.
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

// AppendTo adds to a session's log the notices that it lacks. It is for a session that
// another process ends.
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

// endText returns the message about the end of a session; empty means none is needed.
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
