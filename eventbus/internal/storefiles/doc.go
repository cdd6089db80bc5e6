// Package storefiles knows the files of an embedded store: what there was, what is
// missing or garbled, and how the rest is kept.
//
// nats-server keeps the messages of a stream in files called blocks. If blocks are truncated
// or missing it opens the stream without saying so. In a block with a garbled byte it drops
// everything that follows. It leaves out a stream without its description. Therefore the
// process that runs the store records its files ([Keeper]), and the next one compares the
// files with the record ([Check]) before its server reads them. Losses are recorded for
// everyone who opens the store later.
//
// While the server runs, it changes the files itself. The Keeper asks the server which
// messages it has, and so tells damage from that. A damaged store must be opened anew, after a
// Check.
//
// # Files, from the bottom up
//
//	block           the format of a block
//	ledger          what files there were
//	messages        what the server says that it has
//	keeper          looks at the files of an open store
//	watch, judge    what has changed there, and whether that is damage
//	loss            what is missing
//	check           the comparison
//	repair          files made fit to be read
package storefiles
