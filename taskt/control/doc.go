// Package control is what a caller does with its subagents: list them, wait for them, read
// their answers, send them messages, stop them.
//
// [Operations] is the one table of the operations. Models and MCP hosts get each as a tool. HTTP,
// NATS and the command line have a request for each. Names, arguments and answers are the same
// everywhere. A [Scope] says whose sessions a caller reaches.
//
// Everything is read from the store. A message or a stop is a request to the process that runs
// the session, so caller and session may be in different processes of the workspace.
package control
