// Package event is the wire format of the event streams. It has the events of sessions, the
// envelope around the events of a child, and the path that determines a session's subjects. A
// client of the streams needs only this package.
//
// An [Event] is one fact about a session. [Encode] writes it as camelCase JSON
// with "type" first. [Decode] reads it, and returns [Unknown] for a type of a
// later version. A [SubagentEvent] is an event of a child as the stream of its
// parent shows it.
package event
