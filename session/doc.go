// Package session runs agents. A session is one run of an agent: a record, the
// messages of its conversation, and the events on its stream.
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
// What has to survive is in JetStream: the record in the bucket
// AGENT_SESSIONS, changed by compare-and-set through one transition function;
// the messages in the stream AGENT_MESSAGES; the events in package eventbus.
// What a killed process left on its way is found by its record, which is not
// closed yet, when the next process opens the store: a session that ran becomes
// interrupted, and every stream gets its one session_end.
package session
