package log

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// State is what the log of a session says.
type State struct {
	// Record is the session's record. Its path is empty if the log's beginning is gone.
	Record record.Record

	// Messages is the conversation as far as it is complete: of a message that was
	// cut off, and of results of which some are missing, nothing is there.
	Messages []*Message

	// Sent is what of it the model is sent in its next call: all of it, or what there is
	// since it was last compacted.
	Sent []*Message

	// Open are the calls without an outcome, in their order.
	Open []model.ToolCall

	// Partial is what the model has said last, whether or not it was complete.
	Partial string

	// CallID is the call of the session above that has made this one.
	CallID string

	// Terms is how the session was called, as [Record.OpenedEntry] got it.
	Terms json.RawMessage

	// Pending are the ids of the approvals without an outcome, in their order.
	Pending []string

	// Budget is what the session may use, as it was stored; nil means it has no budget of
	// its own.
	Budget json.RawMessage

	// ToolCalls counts the calls that the session has made.
	ToolCalls int64

	// Unsettled is what was set aside for model calls of which is not known what they
	// have used. It counts as used.
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

	// Fenced tells whether that is one by which a process ends what another one has.
	Fenced bool

	// Worked is how long the session has worked, without the time in which it waited for
	// an approval or a provider, or had no process.
	Worked time.Duration

	// WorkedBefore is how much of that it has worked before it went on as the agent that it is.
	WorkedBefore time.Duration

	// Todo and Plan are what the session has noted last.
	Todo event.Todo
	Plan event.Plan

	LastTurn   event.TurnMessage             // of the last turn that has ended
	latest     string                        // the outcome of the last call that has one
	cut        map[string][]model.ToolResult // by the message with the calls, where outcomes are missing
	delivered  map[string]bool               // ids of messages that the model has been told, or knows of by the result of a call
	Compacted  bool                          // Sent is not all
	Opened     bool                          // the log holds the conversation: it has its first entry
	LastStatus event.Status
}

// recordOr returns the record that the log gives. Of a log whose beginning is gone, that
// is the stored one with the end that is in the log.
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
