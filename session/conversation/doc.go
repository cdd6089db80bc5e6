// Package conversation has the messages that a session's model is sent: how many tokens they
// have, which turns and steps are kept, and how a model reads them that summarises.
package conversation
