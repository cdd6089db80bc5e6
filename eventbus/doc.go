// Package eventbus carries the events of sessions on NATS JetStream.
//
// An [event.Event] is one fact about a session; its JSON is the wire format. A
// session publishes through its [Publisher], anyone follows with [Bus.Follow].
//
// # Stored once, in the root's view
//
// Every event is one message of the stream AGENT_EVENTS, on a subject that
// carries the session's ancestry and the event's type:
//
//	agents.v1.<workspace>.events.<root>[.<child>[.<grandchild>…]].<type>
//
// The body is what the root's stream shows: the bare event for the root's own,
// with a "subagent_event" envelope around it for each level below. So the
// subjects below agents.v1.<workspace>.events.<root> are the root's stream,
// those below its child are the child's, and one stream sequence orders all of
// them: the child's stream and its parent's can't disagree, since they are the
// same messages. A reader that stands below the root strips as many envelopes
// as it stands deep.
//
// # Delivery
//
// Publishing is asynchronous within a bounded window; [Publisher.Flush] waits
// until all that was published is stored. A publisher that could not store an
// event refuses all later ones, and its session fails. A stream has one
// session_end, whoever publishes it and however often a process is killed: the
// store refuses a second one.
// Followers read from the store at their own pace: a slow one holds up nobody
// and loses nothing.
//
// # Processes that share the embedded store
//
// Of the processes that [Open] a store folder, the one that gets its lock, the
// host, runs the server; the others, its guests, are let in over loopback. When
// the host ends, in order or not, a guest gets the lock and the server runs
// there. A [Bus] finds the store by itself, and what was asked of it and not
// answered is asked again:
//
//   - The bus has one connection, which looks up where the store is each time it
//     dials. What goes through [Bus.JetStream] and the buckets and streams of
//     [Bus.EnsureBucket] and [Bus.EnsureStream] is repeated until it is answered;
//     writes carry a message id, so that they are stored once.
//   - Publishers share a second connection, which is never mended: what was sent
//     on it has arrived in order up to some point. On the next one each asks for
//     its last stored event and goes on behind it.
//
// [Bus.Conn] alone shows that a store has moved.
package eventbus
