// Package masking says how others see a session: its stored events and its conversation,
// without what looks like a credential ([secrets.Mask]).
//
// The session itself, its model, and whoever resumes it need the unmasked text. If masking
// changes an event that they read from the log, the log also has the unmasked event, in an
// entry of its own.
package masking
