// Package disk reads a file system that may not answer. Every call has a
// timeout, and the number of calls that have not returned is bounded.
package disk
