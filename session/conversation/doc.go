// Package conversation has the messages that a session's model is sent. It counts their tokens,
// selects turns and steps, and renders them for a model that summarises.
package conversation
