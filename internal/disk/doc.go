// Package disk reads files and folders that may be on a file system which does
// not answer: every call has a timeout, and calls that do not return are bounded
// in number.
package disk
