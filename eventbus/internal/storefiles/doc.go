// Package storefiles knows the files of an embedded store: what there was, what is
// missing or garbled, and how the rest is kept.
//
// nats-server keeps the messages of a stream in blocks. It opens a stream whose
// blocks were cut off or removed without a word, drops what stands behind a garbled
// byte in a block, and leaves out a stream without its description. So whoever runs
// the store writes down what files there are ([Keeper]), and who opens it next
// compares ([Check]) before the server reads them. What is lost is written down, for
// all who open the store later.
//
// # Files, from the bottom up
//
//	block           the format of a block
//	ledger, keeper  what files there were
//	loss            what is missing
//	check           the comparison
//	repair          files made fit to be read
package storefiles
