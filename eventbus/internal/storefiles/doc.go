// Package storefiles knows the files of an embedded store: what there was, what is
// missing or garbled, and how the rest is kept.
//
// nats-server keeps the messages of a stream in files called blocks. If blocks are truncated
// or missing it opens the stream without saying so. In a block with a garbled byte it drops
// everything that follows. It leaves out a stream without its description. Therefore the
// process that runs the store records its files ([Monitor]), and the next one compares the
// files with the record ([Check]) before its server reads them. Losses are recorded for
// everyone who opens the store later.
//
// While the server runs, it changes the files itself. The Monitor asks the server which
// messages it has, and so tells damage from that. A damaged store must be opened anew, after a
// Check.
//
// # Files, from the bottom up
//
//	ledger          what files there were
//	block           the format of a block
//	folder          what files there are
//	messages        what the server says that it has
//	monitor         what is recorded of an open store
//	changes         what has changed there
//	classify        whether that is damage
//	look            the looks, about once a second
//	compare         the files against the ledger, before a server opens them
//	repair          files made fit to be read
//	loss            what is missing
//	check           comparison, losses and repair of a store
package storefiles
