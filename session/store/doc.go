// Package store holds what is stored of sessions: their records and messages, the
// approvals that they wait for, and the leases of the processes that run them. It
// runs none: any process of a workspace can ask it, and end what others have left.
//
// A session is its log, in the event stream: its events, and the entries of
// entries.go, which are none. [Fold] says what a log says: the record, the
// conversation, what is open. The records in the bucket AGENT_SESSIONS are an
// index of the logs. The process of a session writes them behind it, by an
// [Index]; [Store.Rebuild] makes them anew.
//
// The approvals are in the bucket AGENT_APPROVALS. Of two answers the first one
// counts, from whatever process: [Store.Answer].
//
// A process that runs sessions has a lease in the bucket AGENT_WORKERS. What it
// left when it was killed, [Store.Recover] ends: a session that ran becomes
// interrupted, and every stream gets its one session_end.
//
// The package has more files than others: each is one thing that can be asked of a
// [Store], or one thing that is stored.
package store
