// Package control is what a caller does with the subagents it has: list them,
// wait for them, read what they answered, send
// them messages, stop them.
//
// [Operations] is the one table of it. A model gets the operations as tools, an
// MCP host too, and HTTP, NATS and the command line have a request for each:
// name, arguments and answers are the same everywhere. What differs is whose
// sessions a caller may reach, which its [Scope] says.
//
// All is read from the store, and a message or a stop is a request to the
// process that runs the session: it does not matter in which process of the workspace a session
// runs, and in which one its caller is.
package control
