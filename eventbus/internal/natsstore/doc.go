// Package natsstore connects to the NATS store of a workspace: a server that runs
// in one of the workspace's processes, or an external server or cluster.
//
// # The embedded store
//
// The processes that open one store folder elect a leader by a file lock. The
// leader runs the server; the others, the store followers, connect to it over
// loopback. When the leader ends, in order or not, another process gets the lock
// and runs the server.
//
// # Retries
//
// What is asked of [Store.JetStream], and of the streams and buckets that it
// returns, is repeated while the store moves to another process, or a stream to
// another server of a cluster. Writes carry a message id, so that they are stored
// once. A [PublishConn] is never reconnected instead: what was sent on it has
// arrived in order up to some point.
//
// # Files, from the bottom up
//
//	timing                                   how long everything may take
//	lock, holder                             who may run the embedded server
//	blocks, loss, room                       its files, and the disk below
//	server, rendezvous, leader               the embedded server
//	dial, election                           who runs it, and where
//	access, errors, target                   one connection to a server
//	connstate, retry, retrying_*             operations that outlast a connection
//	publishconn, streamcheck                 publishing; other people's streams
//	store, ensure                            the store
package natsstore
