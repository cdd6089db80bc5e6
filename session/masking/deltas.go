package masking

import (
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
)

// Deltas masks a message while the model says it. The deltas of its events together are the
// mask of its text, and of its reasoning. Their offsets count what is shown. If something
// may be the beginning of a credential, it comes with a later delta, or with the last ones
// ([Deltas.End]).
type Deltas struct {
	text, reasoning stream
}

// Masks reports whether a part of the text was masked.
func (d *Deltas) Masks() bool { return d.text.Masks() }

// Text returns the event of the next piece of the text; ok false means all of it is held
// back.
func (d *Deltas) Text(messageID, piece string) (ev event.ContentDelta, ok bool) {
	delta, offset, ok := d.text.next(piece)
	return event.ContentDelta{MessageID: messageID, Delta: delta, Offset: offset}, ok
}

// Reasoning is [Deltas.Text] for the reasoning.
func (d *Deltas) Reasoning(messageID, piece string) (ev event.ReasoningDelta, ok bool) {
	delta, offset, ok := d.reasoning.next(piece)
	return event.ReasoningDelta{MessageID: messageID, Delta: delta, Offset: offset}, ok
}

// End publishes what was held back, at the end of the message.
func (d *Deltas) End(messageID string, publish func(event.Event)) {
	if delta, offset := d.reasoning.rest(); delta != "" {
		publish(event.ReasoningDelta{MessageID: messageID, Delta: delta, Offset: offset})
	}
	if delta, offset := d.text.rest(); delta != "" {
		publish(event.ContentDelta{MessageID: messageID, Delta: delta, Offset: offset})
	}
}

// stream is one text, and how much of it is shown.
type stream struct {
	secrets.Stream
	shown int
}

func (s *stream) next(piece string) (delta string, offset int, ok bool) {
	delta, offset = s.Write(piece), s.shown
	s.shown += len(delta)
	return delta, offset, delta != "" || piece == ""
}

func (s *stream) rest() (delta string, offset int) {
	delta, offset = s.Flush(), s.shown
	s.shown += len(delta)
	return delta, offset
}
