// Package event is the wire format of the event streams: the events of sessions,
// the envelope around the events of a child, and the path that says where a
// session's events stand. A client of the streams needs this package alone.
//
// An [Event] is one fact about a session. [Encode] writes it as camelCase JSON
// with "type" first; [Decode] reads it, and yields [Unknown] for a type of a
// later version. A [SubagentEvent] is an event of a child as the stream of its
// parent shows it.
package event
