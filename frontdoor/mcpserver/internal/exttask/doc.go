// Package exttask has the wire types of the Tasks extension of MCP
// (io.modelcontextprotocol/tasks, SEP-2663). A call is answered with a task, which its
// client asks about, answers and cancels by an id. The SDK has no types for it.
//
// It knows nothing of sessions: what a task is, and how it is doing, is for the
// package that serves it.
package exttask
