// Package acpserver is the front door for editors that speak ACP, the Agent Client
// Protocol, version 1: they talk with primary agents.
//
// It translates and decides nothing. A session of the protocol is a
// [conversation.Conversation], whose id is that of its first session. What the session and
// those below it do is read from its stream, and shown as session/update.
//
// # Questions
//
// A tool call that waits for an approval, of the session or of any below it, is put to the
// client as session/request_permission of the session of the protocol; its title names the
// subagent that asks. Whoever answers first counts, here or by [store.Store.Answer]. An
// answer that is not one of the options, and none, deny the call. A client that can't be
// asked leaves it pending: its user is told how to answer elsewhere.
//
// # Subagents
//
// A client that declares the capability "subagents" of the unstable schema gets each
// subagent as a session of its own (subagent.go, the only file that knows that schema).
// Others get updates of the tool call that has made the subagent (delegate.go).
//
// # The end
//
// The end of the input cancels all turns. Their answers are written if the client still
// reads, and the sessions end.
package acpserver
