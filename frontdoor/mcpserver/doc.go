// Package mcpserver is the front door for hosts that speak MCP, the Model
// Context Protocol. It offers them the tools "task", those of
// [control.Operations], and "agents_list".
//
// It translates and decides nothing. A call is a run of [taskt.Service], and the text of
// its result is the <task_result> or <task_error> element. The session id, the status, the
// usage and the duration are in the result's _meta.
//
// # Connections
//
// Each connection has a root session, which stands for the host and has its
// name and version. It opens with the first call, and ends with the connection.
// If another process has ended it, the next call opens a new one. Calls
// run side by side. The end of the connection stops all children.
//
// # Long calls
//
// A host that sent a progress token is notified of each step and each tool call,
// and every few seconds that the child still works. A call is answered before
// the host gives up on it, which some hosts do whatever progress there is (internal/hosts
// has what is known of them). The answer says that the child goes on, and has
// its session id. task_wait then waits for it; task_result reads an answer
// again. Both reach only the children of their own connection.
//
// A call that the host cancels stops its child, unless the reason is the host's
// time limit: then the child goes on, and task_wait has its answer, without a
// session id too. If the host does not say which it is, the child
// goes on for a while. Either way the next call says so. task_stop stops a child
// if the host does not pass on that its user has stopped the call.
//
// # Results
//
// A result is fitted to what the host's model gets to see. If it is too long, its head and
// its tail are left, and between them the offset with which task_result reads on.
//
// # Questions
//
// A tool call of a child that waits for an approval is put to the host's user as
// a form, if the client's capabilities name forms. Up to MCP 2025-11-25 that is
// a request of the server. From 2026-07-28 on the call is answered with the
// question and a state that nobody can guess, and the host makes it again with
// both; the child lives on in between. The first answer counts, whether it comes from
// here or by [store.Store.Answer]. A form that is declined denies the call; one that is
// accepted within a second is put again. Some answers are none: a form that is dismissed,
// one that is declined within a second (which hosts without a screen do), and one that
// never comes back. They hold up nobody, and the approval expires like any other. If the
// host's user can't answer, the call is answered after 20 s with who can.
//
// # Files
//
// serve.go opens a connection (connection.go), which is put together of parts with a lock
// each: whom it stands for (root.go), its children (children.go), how the host is asked
// (approval.go and sampling.go make the questions), and what its calls wait for (wait.go).
// Each generation of the protocol has a part of its own: requests of the server in
// elicitation.go and progress.go, multi-round-trip requests in rounds.go, and the Tasks
// extension in tasks.go and the task_ files beside it. No file uses those above it.
package mcpserver
