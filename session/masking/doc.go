// Package masking says what of a session others are shown: its events, as they are stored,
// and its conversation, without what looks like a credential ([secrets.Mask]).
//
// The session itself, its model, and whoever goes on with it need the whole. Where masking
// changes an event that they read from the log, the log has the whole beside it, in an entry
// that is no event.
package masking
