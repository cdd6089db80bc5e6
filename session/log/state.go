package log

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/record"
)

// State is what the log of a session says.
type State struct {
	// Record is the session's record. Its path is empty if the log lacks its beginning.
	Record record.Record

	// Messages is the complete part of the conversation. It has no message that was cut
	// off, and no results if some of them are missing.
	Messages []*Message

	// Sent is the part of it that the next model call contains: all, or what remains since
	// it was last compacted.
	Sent []*Message

	// Open are the calls without an outcome, in their order.
	Open []model.ToolCall

	// Partial is the last text of the model, complete or not.
	Partial string

	// CallID is the parent's call that has made this session.
	CallID string

	// Terms is how the session was called, as [OpenedEntry] got it.
	Terms json.RawMessage

	// Commands are those in the background that have not ended before their process.
	Commands []Command

	// Pending are the ids of the approvals without an outcome, in their order.
	Pending []string

	// Budget is the stored form of what the session may use; nil means it has no budget of
	// its own.
	Budget json.RawMessage

	// ToolCalls counts the calls that the session has made.
	ToolCalls int64

	// Unsettled is what was set aside for model calls with unknown usage. It counts as
	// used.
	Unsettled Unsettled

	// Started tells whether the log has the session's session_start.
	Started bool

	// Prompted tells whether the model was given its task.
	Prompted bool

	// Answer is the result of the last turn, if nothing has followed it; nil means the turn
	// has not ended.
	Answer *string

	// Fence is the sequence number of the last fence of the session: see [eventbus.Bus.Take].
	// 0 means it has none.
	Fence uint64

	// Fenced reports whether that fence is by a process that ends another one's sessions.
	Fenced bool

	// Worked is how long the session has worked, without the time in which it waited for
	// an approval or a provider, or had no process.
	Worked time.Duration

	// WorkedBefore is the part of Worked before the session became its present agent.
	WorkedBefore time.Duration

	// Todo and Plan are what the session has noted last.
	Todo event.Todo
	Plan event.Plan

	// Hidden is what the session's model has read instead of credentials.
	Hidden []hidden.Placeholder

	steps      map[string]int                // by the message with the calls of a step
	LastTurn   event.TurnMessage             // of the last turn that has ended
	latest     string                        // the outcome of the last call that has one
	cut        map[string][]model.ToolResult // by the message with the calls, where outcomes are missing
	delivered  map[string]bool               // ids of messages that the model has read, directly or by the result of a call
	Compacted  bool                          // Sent is not everything
	Opened     bool                          // the log has its first entry
	LastStatus event.Status
}

// Command is a command in the background.
type Command struct {
	event.CommandStart
	Line  string // the last one that it has written
	Waits bool   // for input
	Lost  bool   // it has ended with its process
}

// RecordOr returns the log's record. If the log lacks its beginning, it returns the stored
// one, with the end that is in the log.
func (st *State) RecordOr(stored *record.Record) *record.Record {
	if st.Opened {
		return &st.Record
	}
	r := *stored
	if st.Record.Closed {
		if !r.Status.Ended() {
			r.Status, r.Error, r.EndedAt = st.Record.Status, st.Record.Error, st.Record.EndedAt
		}
		r.Closed = true
	}
	return &r
}
