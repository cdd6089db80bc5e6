// Package embedded runs the NATS server of a workspace's store within one of the
// workspace's processes, and tells the others where it is.
//
// The processes that open one store folder elect a leader by a file lock. The
// leader runs the server; the others, the store followers, connect to it over
// loopback. When the leader ends, in order or not, another process gets the lock
// and runs the server.
//
// # Files, from the bottom up
//
//	timing                       how long everything may take
//	lock, holder                 who may run the server
//	room                         the disk
//	server, rendezvous, leader   the server
//	contents                     what it has
//	dial, election               who runs it, and where
package embedded
