// Package session runs agents. A session is one run of an agent, and it is its log:
// what it does is appended to the event stream, in order, without waiting. [store.Fold]
// says what a log says: the record, the conversation, what is open.
//
// A [Manager] opens sessions. A root session stands for a caller or runs a
// primary agent; a child session is opened by the task tool for a parent. Both
// are the same code: [Session.Prompt] asks the model, runs the tool calls of
// its answer side by side, hands the results back, and goes on until the model
// answers without a tool call, the steps are used up, the time is, or the
// context ends.
//
// Every tool call of every session goes through the gate in gate.go, the only
// caller of a tool. It publishes the call, judges what it wants, asks where the
// rules say so, and runs it within its time limit. A tool that fails is a
// result for the model, not the end of the session.
//
// The session waits until its log is stored before a tool that changes something
// runs, before a question is shown, and at its end: for the one session_end, behind
// all that is on its way. The record in the bucket AGENT_SESSIONS is an index,
// written behind the session. What a killed process left is found there, or by its
// log, when the next process opens the store: a session that ran becomes
// interrupted, and every stream gets its one session_end.
//
// The files here share the state of [Session]. What does not is in packages below: what is
// stored of sessions, and can be asked without running one, in store; how processes see
// that others live in lease; what the gate judges by in gate; docs/architecture.md has all.
package session
