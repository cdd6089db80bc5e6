// Package mcpserver is the front door for hosts that speak MCP, the Model
// Context Protocol: it offers them the tools "task", those of
// [control.Operations], and "agents_list".
//
// It translates and decides nothing: a call is a run of [taskt.Service], its
// result text the <task_result> or <task_error> element, and what goes beside
// the text (session id, status, usage, duration) stands in the result's _meta.
//
// # Connections
//
// Each connection has a root session, which stands for the host and has its
// name and version. It opens with the first call, and ends with the connection;
// where another process has ended it, the next call opens another one. Calls
// run side by side. The end of the connection stops all children.
//
// # Long calls
//
// A host that sent a progress token is told of each step and each tool call,
// and every few seconds that the child still works. A call is answered before
// the host gives up on it, which no progress puts off in some hosts (internal/hosts
// has what is known of them): with a text that says that the child goes on, and
// its session id. task_wait then waits for it; task_result reads an answer
// again. Both know the children of their own connection alone.
//
// A call that the host cancels stops its child, unless the reason is the host's
// time limit: then the child goes on, and its answer is there for task_wait,
// which needs no session id. Where the host does not say which it is, the child
// goes on for a while. Either way the next call says so. task_stop stops a child
// whose host tells nobody that its user has stopped the call.
//
// # Results
//
// A result is fitted to what the host's model gets to see. Of one that is too
// long there are the head and the tail, and between them with which offset
// task_result reads on.
//
// # Questions
//
// A tool call of a child that waits for an approval is put to the host's user as
// a form, if the client's capabilities name forms. Up to MCP 2025-11-25 that is
// a request of the server. From 2026-07-28 on the call is answered with the
// question and a state that nobody can guess, and the host makes it again with
// both; the child lives on in between. Whoever answers first counts, here or by
// [store.Store.Answer]. A form that is declined denies the call; one that is
// accepted within a second is put again. One that is dismissed, declined within
// a second (no person does so, and hosts without a screen do), or never comes
// back, holds up nobody, and the approval expires as any other. Where the host's
// user can't answer, the call is answered after 20 s with who can.
//
// # Files
//
// All files but the transport and what is known of hosts share the state of one
// connection, and so are one package. None calls back up: serve.go and http.go
// offer the tools of tools.go, whose handlers in call.go wait by wait.go, which
// asks by elicitation.go; below them are the connection and its children.
package mcpserver
