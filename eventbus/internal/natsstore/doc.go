// Package natsstore connects to the NATS store of a workspace: the embedded one,
// which package embedded runs in one of the workspace's processes, or an external
// server or cluster.
//
// # Retries
//
// Operations of [Store.JetStream], and of the streams and buckets that it returns, are
// repeated while the store moves to another process, or a stream to another server of a
// cluster. Writes carry a message id, so that they are stored once. A [PublishConn] is never
// reconnected instead: what was sent on it has arrived in order up to some point.
//
// # Files, from the bottom up
//
//	timing                                   how long everything may take
//	access, errors, target                   one connection to a server
//	connstate, retry, retrying_*             operations that outlast a connection
//	publishconn, batch                       publishing
//	message, get, fetch, tail                reading
//	streamcheck                              other people's streams
//	store, ensure                            the store
package natsstore
