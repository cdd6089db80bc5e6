// Package eventbus carries the events of sessions on NATS JetStream.
//
// An [event.Event] is one fact about a session; its JSON is the wire format. A
// session publishes through its [Publisher], and anyone can follow it with
// [Bus.Follow].
//
// # Stored once, in the root's view
//
// Every event is one message of the stream AGENT_EVENTS, on a subject that
// contains the session's ancestry and the event's type:
//
//	agents.v1.<workspace>.events.<root>[.<child>[.<grandchild>…]].<type>
//
// The body is what the root's stream shows: the root's own events as they are,
// with a "subagent_event" envelope around an event for each level below. So the
// subjects below agents.v1.<workspace>.events.<root> are the root's stream, those
// below its child are the child's, and one stream sequence orders all of them. The
// child's stream and its parent's can't disagree, since they are the same
// messages. A reader of a session below the root strips as many envelopes as the
// session is deep.
//
// # Delivery
//
// Publishing is asynchronous: a writer that all publishers of a bus share stores
// what has been queued in batches, one after the other. [Publisher.Flush] waits
// until everything published is stored. A publisher that could not store an event
// refuses all later ones, and its session fails. A stream has one session_end,
// whoever publishes it and however often a process is killed: the store refuses a
// second one. Readers read from the store at their own pace: a slow one delays
// nobody and loses nothing.
//
// # Processes that share the embedded store
//
// Of the processes that [Open] a store folder one leads: it holds the folder's
// lock and runs the server. The others, the store followers, connect to it over
// loopback. When the leader ends, in order or not, another process leads. A [Bus]
// finds the store by itself, and repeats what was not answered:
//
//   - [Bus.JetStream], and the buckets and streams of [natsstore.Store.EnsureBucket] and
//     [natsstore.Store.EnsureStream], repeat every operation until it is answered. Writes
//     carry a message id, so that they are stored once.
//   - The writer has a connection that is never reconnected: what was sent on it
//     has arrived in order up to some point. On the next one it reads how far it
//     got, and continues after that.
//
// Only [Bus.Conn] shows that a store has moved.
package eventbus
