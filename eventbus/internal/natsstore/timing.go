package natsstore

import "time"

// Operations on any store.
const (
	// operationTimeout is how long an operation whose context has no deadline is
	// repeated while the store is away, and how long all wait for an embedded store
	// that this process can't open, as on a full disk: docs/reference/state.md promises
	// that sessions fail after it. A takeover takes a fraction of a second;
	// a cluster needs up to 9 s to elect a new leader of a stream
	// (maxElectionTimeout in nats-server's raft.go).
	operationTimeout = 10 * time.Second

	// AttemptTimeout bounds one attempt: a request may be lost with its server. Three fit in
	// operationTimeout.
	AttemptTimeout = 3 * time.Second

	// retryPause is the pause between two attempts: a cluster without a leader
	// refuses at once, and is not to be asked in a loop.
	retryPause = 50 * time.Millisecond

	// readTimeout bounds one attempt to read stored messages of the embedded store. On a busy
	// machine the answer waits for other messages, and asking again would make that worse. The
	// end of the server ends the connection, and so the attempt.
	readTimeout = 10 * time.Second

	// consumerTimeout is how long the server keeps a consumer of a process that has exited. A
	// process deletes consumers that it no longer needs.
	consumerTimeout = 5 * time.Second

	// pullHeartbeat is how often the server says of a request for messages that it is
	// open. A consumer that misses two is replaced: a request may be lost with the
	// server of a cluster that had it.
	pullHeartbeat = 2 * time.Second

	// SilenceTimeout is how long a reader of stored messages hears nothing before
	// it checks whether the rest still exists, and requests it anew. Stored
	// messages arrive within milliseconds.
	SilenceTimeout = time.Second
)

// Publishing.
const (
	// publishConnInterval is the shortest time between two attempts to make a publish
	// connection. It is the interval at which a process tries to lead the embedded store,
	// since both wait for the same.
	publishConnInterval = 10 * time.Millisecond

	// endInterval is how often a store that does not answer is told that a batch
	// has ended: an answer takes a round trip.
	endInterval = 250 * time.Millisecond

	// ackTimeout is how long the store may take to acknowledge an event. A cluster
	// that has lost a leader may take 9 s to vote (see operationTimeout), and may have
	// to vote for the stream and for the cluster's own leader. On a machine with far
	// too much to do, a takeover of the embedded store has taken 5 s.
	ackTimeout = 30 * time.Second

	// followerAckTimeout is how long a process waits for an acknowledgement on one
	// connection to another process, which runs the embedded store. It is longer than
	// AttemptTimeout: the connection ends with that process, and on a busy machine a new
	// one makes matters worse.
	followerAckTimeout = 10 * time.Second

	// DuplicateWindow is how long the event stream remembers message ids: as long
	// as an event is sent again.
	DuplicateWindow = ackTimeout
)

// Every connection to an external server.
const (
	// pingInterval is how often a connection asks its server for a sign of life, and maxPings
	// how many questions may be open. A server that is silent, as behind a cut cable, is given
	// up after 6 s at most. Within operationTimeout that leaves time for another server.
	pingInterval = 2 * time.Second
	maxPings     = 2

	// writeTimeout bounds one write: the library asks for no sign of life while it
	// waits for room in the system's send buffer. It leaves 5 s for a large
	// message on a slow line.
	writeTimeout = 5 * time.Second
)

// An external server or cluster.
const (
	// clusterStartTimeout is how long a cluster without a leader may take to
	// elect one when the store is opened: two votes, and the start of a server.
	clusterStartTimeout = 20 * time.Second

	// clusterAttemptTimeout bounds one attempt meanwhile: creating a stream with
	// three replicas takes longer than reading one. It is the client library's
	// own default.
	clusterAttemptTimeout = 5 * time.Second

	// noResponderTimeout is how long nobody at all may listen to JetStream's
	// requests before the server counts as one without JetStream. A server that
	// starts takes connections a moment before it answers them.
	noResponderTimeout = 2 * time.Second
)
