package log

import (
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/masking"
)

// unmaskedKey names an event whose unmasked form the log may have; empty means it has none.
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

// expect keeps the unmasked form of an event that follows.
func (f *fold) expect(data json.RawMessage, _ Entry) error {
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

// unmaskedOf returns the unmasked form of a published event.
func (f *fold) unmaskedOf(ev event.Event) event.Event {
	if len(f.unmasked) == 0 {
		return ev
	}
	key := unmaskedKey(ev)
	unmasked, ok := f.unmasked[key]
	if !ok {
		return ev
	}
	delete(f.unmasked, key)
	return unmasked
}

// Mask masks messages for people and other programs.
func Mask(messages []*Message) []*Message {
	for _, m := range messages {
		masking.Message(&m.Message)
	}
	return messages
}

// Mask masks a state for people and other programs: its messages, the model's unfinished
// text, and the calls without an outcome.
func (st *State) Mask() {
	Mask(st.Messages)
	st.Partial = secrets.Mask(st.Partial)
	for i, call := range st.Open {
		st.Open[i] = masking.Call(call)
	}
}
