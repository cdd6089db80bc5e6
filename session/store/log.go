package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// State returns what the log of the session at the end of path says.
func (s *Store) State(ctx context.Context, path event.Path) (*State, error) {
	var failed error
	state, err := Fold(func(yield func(eventbus.Entry) bool) {
		for e, err := range s.bus.Log(ctx, path) {
			if err != nil {
				failed = err
				return
			}
			if !yield(e) {
				return
			}
		}
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path[len(path)-1].SessionID, err)
	}
	return state, nil
}

// recordOr returns the record that the log gives. Of a log whose beginning is gone, that
// is the stored one with the end that is in the log.
func (st *State) recordOr(stored *Record) *Record {
	if st.logged {
		return &st.Record
	}
	r := *stored
	if st.Record.Closed {
		if !r.Status.Ended() {
			r.Status, r.Error, r.EndedAt = st.Record.Status, st.Record.Error, st.Record.EndedAt
		}
		r.Closed = true
	}
	return &r
}

// Messages returns the conversation of a session, the oldest message first. That of
// one that resumes another begins with the other's, as far as it is still stored. Its
// messages have the sessions that nest in them ([Message.Nested]). They are what people and
// other programs are shown: masked. [Store.Conversation] has the whole.
func (s *Store) Messages(ctx context.Context, id string) ([]*Message, error) {
	if !event.ValidID(id) {
		return nil, &NotFoundError{"session", id}
	}
	r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := s.State(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the messages of %w", err)
	}
	if err := s.nest(ctx, r, state.Messages); err != nil {
		return nil, fmt.Errorf("reading what nests in session %s: %w", r.ID, err)
	}
	if r.Resumes == "" {
		return mask(state.Messages), nil
	}
	before, err := s.Conversation(ctx, r.Resumes)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return mask(append(before, state.Messages...)), nil
}

// LastAnswer returns the answer of the last turn of a session, as its caller gets it: the
// result, where the agent's answers are checked. Nothing of it is masked. A session without an answer is an error.
func (s *Store) LastAnswer(ctx context.Context, r *Record) (string, error) {
	turn, err := s.lastTurn(ctx, r)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the answer of session %s: %w", r.ID, err)
	case turn == nil:
		return "", fmt.Errorf("reading the answer of session %s: it is not stored", r.ID)
	case turn.Message.Text == "": // its place is known, but the place is empty
		return "", fmt.Errorf("reading the answer of session %s: it is not stored any more", r.ID)
	}
	return turn.Message.Text, nil
}
