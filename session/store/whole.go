package store

import (
	"context"
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/masking"
)

// WholeEntry is an event as the session itself needs it, if what is published next is masked.
// needed false: nobody reads it from the log.
func WholeEntry(ev event.Event) (entry LogEntry, needed bool) {
	if wholeKey(ev) == "" {
		return LogEntry{}, false
	}
	data, err := event.Encode(ev)
	if err != nil {
		panic(err)
	}
	return LogEntry{wholeKind, json.RawMessage(data)}, true
}

// wholeKey names an event of which the log has the whole, among those on their way; empty
// means it has not.
func wholeKey(ev event.Event) string {
	switch ev := ev.(type) {
	case event.ToolCallStart:
		return ev.Type() + " " + ev.ToolCallID
	case event.TurnComplete:
		return ev.Type() + " " + ev.Message.ID
	case event.Plan, event.Todo:
		return ev.Type()
	}
	return ""
}

// expect takes an entry of an event that follows masked.
func (f *fold) expect(data []byte) error {
	ev, err := event.Decode(data)
	if err != nil {
		return err
	}
	if f.whole == nil {
		f.whole = make(map[string]event.Event)
	}
	f.whole[wholeKey(ev)] = ev
	return nil
}

// wholeOf returns the whole of an event, which is published masked.
func (f *fold) wholeOf(ev event.Event) event.Event {
	if len(f.whole) == 0 {
		return ev
	}
	key := wholeKey(ev)
	whole, ok := f.whole[key]
	if !ok {
		return ev
	}
	delete(f.whole, key)
	return whole
}

// lastTurn returns the end of the last turn of a session, whole; nil means none is stored.
func (s *Store) lastTurn(ctx context.Context, r *Record) (*event.TurnComplete, error) {
	turn, err := s.lastShownTurn(ctx, r)
	if err != nil || turn == nil || !secrets.Masked(turn.Message.Text) {
		return turn, err
	}
	state, err := s.State(ctx, r.Path)
	if err == nil && state.answer.ID == turn.Message.ID {
		turn.Message = state.answer
	}
	return turn, err
}

// lastShownTurn is lastTurn as its event has it.
func (s *Store) lastShownTurn(ctx context.Context, r *Record) (*event.TurnComplete, error) {
	d, err := s.bus.Last(ctx, r.Path, event.TurnComplete{}.Type())
	if err != nil || d.Seq == 0 {
		return nil, err
	}
	turn, err := own[event.TurnComplete](d)
	return &turn, err
}

// mask masks what others are shown of a session.
func mask(messages []*Message) []*Message {
	for _, m := range messages {
		masking.Message(&m.Message)
	}
	return messages
}

// Mask masks what people and other programs are shown of a state: its messages, what the
// model is saying, and the calls without an outcome.
func (st *State) Mask() {
	mask(st.Messages)
	st.Partial = secrets.Mask(st.Partial)
	for i, call := range st.Open {
		st.Open[i] = masking.Call(call)
	}
}
