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
// Each connection has a root session, with the name and version of the host. It opens with
// the first call, and ends with the connection. If another process has ended it, the next
// call opens a new one. Calls run side by side. The end of the connection stops all
// children.
//
// # Long calls
//
// A host that sent a progress token is notified of each step and each tool call, and every
// few seconds that the child still works. A call is answered before the host gives up on
// it: some hosts do so in spite of progress (internal/hosts has what is known of them). The
// answer says that the child goes on, and has its session id. task_wait then waits for it;
// task_result reads an answer again. Both reach only the children of their own connection.
//
// A call that the host cancels stops its child, unless the reason is the host's time limit.
// Then the child goes on, and task_wait has its answer, even without a session id. If the
// host gives no reason, the child goes on for a while. Either way the next call mentions
// the child. task_stop stops a child if the host does not pass on that its user has stopped
// the call.
//
// # Results
//
// A result is fitted to what the host's model gets to see. If it is too long, its head and
// its tail are left, and between them the offset with which task_result reads on.
//
// # Questions
//
// A tool call of a child that waits for an approval is put to the host's user as a form, if
// the client's capabilities name forms. Up to MCP 2025-11-25 that is a request of the
// server. From 2026-07-28 on the call is answered with the question and an unguessable
// state, and the host makes the call again with the answer and the state. The child lives
// on in between. The first answer counts, whether it comes from here or by
// [approval.Bucket.Answer]. A form that is declined denies the call; one that is accepted
// within a second is put again. A dismissed form is no answer, nor is a form that never
// comes back, nor one declined within a second, as hosts without a screen do. They hold up
// nobody, and the approval expires like any other. If the host's user can't answer, the
// call is answered after 20 s with who can.
//
// # Files
//
// serve.go opens a connection (connection.go). Its parts have a lock each: the host's
// identity and root session (root.go), its children (children.go), the questions for the
// host (approval.go and sampling.go), and the calls that wait (wait.go). Each generation of
// the protocol has a part of its own. Requests of the server are in elicitation.go and
// progress.go, and multi-round-trip requests in rounds.go. The Tasks extension is in
// tasks.go, task_inputs.go, task_updates.go and task_methods.go.
package mcpserver
