// Package watch keeps the folders of a scan watched, says when they have to be
// polled instead, and waits until a series of changes is over.
package watch
