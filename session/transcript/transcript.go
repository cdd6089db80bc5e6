package transcript

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Messages returns a session's conversation as people and other programs see it, the oldest
// message first: masked. If the session resumes another one, the other's conversation comes
// first, if it is still stored. The messages have the sessions that nest in them
// ([log.Message.Nested]). [Reader.Conversation] masks nothing.
func (rd *Reader) Messages(ctx context.Context, id string) ([]*log.Message, error) {
	if !event.ValidID(id) {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	r, err := rd.index.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := rd.index.State(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the messages of %w", err)
	}
	if err := rd.nest(ctx, r, state.Messages); err != nil {
		return nil, fmt.Errorf("reading what nests in session %s: %w", r.ID, err)
	}
	if r.Resumes == "" {
		return log.Mask(state.Messages), nil
	}
	before, err := rd.ConversationTo(ctx, r.Resumes, r.FromStep)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return nil, err
	}
	return log.Mask(append(before, state.Messages...)), nil
}

// LastAnswer returns the answer of a session's last turn, unmasked, as its caller gets it.
// It is the result if the agent's answers are checked. A session without an answer is an
// error.
func (rd *Reader) LastAnswer(ctx context.Context, r *record.Record) (string, error) {
	turn, err := rd.LastTurn(ctx, r)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the answer of session %s: %w", r.ID, err)
	case turn == nil:
		return "", fmt.Errorf("reading the answer of session %s: it is not stored", r.ID)
	case turn.Message.Text == "": // the event is stored, but without its content
		return "", fmt.Errorf("reading the answer of session %s: it is not stored any more", r.ID)
	}
	return turn.Message.Text, nil
}

// LastTurn returns the end of a session's last turn, unmasked; nil means none is stored.
func (rd *Reader) LastTurn(ctx context.Context, r *record.Record) (*event.TurnComplete, error) {
	turn, err := rd.shownTurn(ctx, r)
	if err != nil || turn == nil || !secrets.Masked(turn.Message.Text) {
		return turn, err
	}
	state, err := rd.index.State(ctx, r.Path)
	if err == nil && state.LastTurn.ID == turn.Message.ID {
		turn.Message = state.LastTurn
	}
	return turn, err
}

// shownTurn is LastTurn as the event has it, which may be masked.
func (rd *Reader) shownTurn(ctx context.Context, r *record.Record) (*event.TurnComplete, error) {
	d, err := rd.bus.Last(ctx, r.Path, event.TurnComplete{}.Type())
	if err != nil || d.Seq == 0 {
		return nil, err
	}
	_, ev, err := d.Event()
	turn, _ := ev.(event.TurnComplete)
	return &turn, err
}
