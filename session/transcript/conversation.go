package transcript

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// cutOff is the result of a call without a logged result, in the conversation of the
// session that resumes the first.
const cutOff = "[interrupted: the call was cut off, and it is not known what of it was done]"

// Conversation returns a session's conversation so that a model can resume it: unmasked,
// and with an outcome for each call. [Reader.Messages] is for people.
func (rd *Reader) Conversation(ctx context.Context, id string) ([]*log.Message, error) {
	return rd.ConversationTo(ctx, id, 0)
}

// ConversationTo is [Reader.Conversation] up to a step of the session, with its results. 0 means
// all. A step that the session does not have is an error, and so is any step of a session that was
// compacted.
func (rd *Reader) ConversationTo(ctx context.Context, id string, step int) ([]*log.Message, error) {
	r, err := rd.index.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := rd.index.State(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the conversation of %w", err)
	}
	own, ok := state.UpTo(step, cutOff)
	switch {
	case step != 0 && state.Compacted:
		return nil, fmt.Errorf("session %s was compacted: what its model had read at step %d is a summary now", r.ID, step)
	case !ok:
		has := fmt.Sprintf("it has the steps 1 to %d", r.Steps)
		if r.Steps == 0 {
			has = "it ended before its first step"
		}
		return nil, fmt.Errorf("session %s has no step %d: %s", r.ID, step, has)
	}
	before, err := rd.before(ctx, r, state)
	return append(before, own...), err
}

// Hidden returns what the models of a session, and of those that it has resumed, have read in place of
// credentials.
func (rd *Reader) Hidden(ctx context.Context, id string) ([]hidden.Placeholder, error) {
	r, err := rd.index.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := rd.index.State(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the log of %w", err)
	}
	if r.Resumes == "" {
		return state.Hidden, nil
	}
	before, err := rd.Hidden(ctx, r.Resumes)
	return append(before, state.Hidden...), err
}

// before returns the conversation that a session continues.
func (rd *Reader) before(ctx context.Context, r *record.Record, state *log.State) ([]*log.Message, error) {
	switch {
	case state.Compacted: // the summary has the earlier messages
	case r.Resumes != "":
		return rd.ConversationTo(ctx, r.Resumes, r.FromStep)
	case r.Fork != 0:
		return rd.forkedFrom(ctx, r)
	}
	return nil, nil
}

// forkedFrom returns the part of its parent's conversation that a session continues, by
// [record.Record.Fork].
func (rd *Reader) forkedFrom(ctx context.Context, r *record.Record) ([]*log.Message, error) {
	all, err := rd.Conversation(ctx, r.ParentID)
	if err != nil {
		return nil, err
	}
	end := slices.IndexFunc(all, func(m *log.Message) bool { return m.ID == r.ParentMessageID })
	if end < 0 {
		return nil, fmt.Errorf("session %s went on from message %s of session %s, which is not stored", r.ID, r.ParentMessageID, r.ParentID)
	}
	begin, turns := 0, r.Fork
	for i := end - 1; i > 0 && begin == 0; i-- {
		if m := all[i]; m.Role == model.User && len(m.ToolResults) == 0 {
			if turns--; turns == 0 {
				begin = i
			}
		}
	}
	return all[begin:end], nil
}

// Resumed returns the conversation of a claimed session for its model, and the index of the
// task in it. If the session was cut off in a step, the message of this step is the last
// one.
func (rd *Reader) Resumed(ctx context.Context, r *record.Record, st *log.State) (messages []*log.Message, task int, err error) {
	own := st.Completed(log.Repeat)
	if st.Step() != nil {
		own = own[:len(own)-1]
	}
	before, err := rd.before(ctx, r, st)
	return append(before, own...), len(before), err
}
