// Package acpserver is the front door for editors that speak ACP, the Agent Client
// Protocol, version 1: they talk with primary agents.
//
// It translates and decides nothing. A session of the protocol is a
// [conversation.Conversation], and has the id of its first session. What the session and
// those below it do is read from its stream, and shown as session/update.
//
// # Questions
//
// A tool call may wait for an approval, in the session or in any below it. The client is asked
// by session/request_permission of the session of the protocol, and the title names the
// subagent that asks. The first answer counts, here or by [approval.Bucket.Answer]. A dismissal and
// an unknown option deny the call. If the client can't be asked, the call stays pending, and its
// user is told how to answer elsewhere.
//
// # Subagents
//
// A client may declare the capability "subagents" of the unstable schema: it gets each subagent
// as a session of its own. Only subagent.go knows that schema. Other clients get updates of the
// tool call that made the subagent (delegate.go).
//
// # The end
//
// The end of the input cancels all turns. Their answers are written if the client still
// reads, and the sessions end.
package acpserver
