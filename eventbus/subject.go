package eventbus

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
)

// The last token of a subject is the type of the event, except for these two. A subject with a
// stored message costs the server about 200 bytes of memory, so events that most sessions have
// share one.
const (
	turnToken  = "turn"  // of a session's start and end, and the events of which its turns consist
	entryToken = "entry" // of a log's entries that are no events
)

// subjectOf returns the subject of a session's own events of a type. Those of [event.OfTurns] share one.
func subjectOf(session, eventType string) string {
	if event.OfTurns(eventType) {
		return session + "." + turnToken
	}
	return session + "." + eventType
}

// entryMessage returns what is stored of an entry: an object with its kind as the only
// field.
func entryMessage(kind string, content json.RawMessage) []byte {
	data := make([]byte, 0, len(kind)+len(content)+5)
	data = append(append(append(data, `{"`...), kind...), `":`...)
	return append(append(data, content...), '}')
}

// entryOf returns the kind and the content of an entry that is no event. A fence has its
// kind in the subject.
func entryOf(m *stored) (kind string, content json.RawMessage) {
	kind = m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	if kind != entryToken {
		return kind, m.Data
	}
	rest, ok := bytes.CutPrefix(m.Data, []byte(`{"`))
	name, rest, found := bytes.Cut(rest, []byte(`":`))
	content, closed := bytes.CutSuffix(rest, []byte(`}`))
	if !ok || !found || !closed {
		return kind, m.Data // of nobody's making: no kind that is known
	}
	return string(name), content
}

// FenceKind is the kind of the entries of a session's log that are fences.
const FenceKind = "fence"
