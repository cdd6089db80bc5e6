package log

import (
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/masking"
)

// WholeEntry is an event as the session itself needs it, if what is published next is masked.
// needed false: nobody reads it from the log.
func UnmaskedEntry(ev event.Event) (entry Entry, needed bool) {
	if unmaskedKey(ev) == "" {
		return Entry{}, false
	}
	data, err := event.Encode(ev)
	if err != nil {
		panic(err)
	}
	return newEntry(wholeKind, json.RawMessage(data)), true
}

// wholeKey names an event of which the log has the whole, among those on their way; empty
// means it has not.
func unmaskedKey(ev event.Event) string {
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
	if f.unmasked == nil {
		f.unmasked = make(map[string]event.Event)
	}
	f.unmasked[unmaskedKey(ev)] = ev
	return nil
}

// wholeOf returns the whole of an event, which is published masked.
func (f *fold) unmaskedOf(ev event.Event) event.Event {
	if len(f.unmasked) == 0 {
		return ev
	}
	key := unmaskedKey(ev)
	whole, ok := f.unmasked[key]
	if !ok {
		return ev
	}
	delete(f.unmasked, key)
	return whole
}

// mask masks what others are shown of a session.
func Mask(messages []*Message) []*Message {
	for _, m := range messages {
		masking.Message(&m.Message)
	}
	return messages
}

// Mask masks what people and other programs are shown of a state: its messages, what the
// model is saying, and the calls without an outcome.
func (st *State) Mask() {
	Mask(st.Messages)
	st.Partial = secrets.Mask(st.Partial)
	for i, call := range st.Open {
		st.Open[i] = masking.Call(call)
	}
}
