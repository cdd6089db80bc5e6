// Package session runs agents. A session is one run of an agent, and it is its log: what it
// does is appended to the event stream, in order, without waiting. [log.Fold] derives the
// rest from a log: the record, the conversation, and what is open.
//
// A [Manager] opens sessions. A root session belongs to a caller or to a primary agent;
// the task tool opens child sessions ([Child]). Both are the same code. [Session.Prompt] asks the
// model, makes the tool calls of its answer side by side, and hands the results back. It ends
// when the model answers without a tool call, the steps or the time are used up, or the
// context ends.
//
// Every tool call of every session goes through the gate in package toolcall, the only caller
// of a tool. A tool that fails is a result for the model, not the end of the session.
//
// The session waits until its log is stored at three points: before a tool changes something,
// before a question is shown, and at its end. The record in the bucket AGENT_SESSIONS is an
// index that is written later. The next process that opens the store finds what a killed one
// left, there or in the logs. It resumes these sessions or ends them as interrupted, and every
// stream gets its one session_end.
//
// A [Session] is composed of parts with a lock each, in packages of their own that don't know
// the session. Package journal has the log and the record, lifetime the time to work,
// conversation what the model is sent, and inbox the messages and the background work. Here
// are the manager, the turn with its steps, and what opens and ends sessions.
package session
