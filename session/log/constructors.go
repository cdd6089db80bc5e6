package log

import (
	"encoding/json"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// OpenedEntry is the entry that a session's log begins with. callID is the call that has
// made the session; terms is how it was called, for who resumes it; nil means it is not
// resumed.
func OpenedEntry(r *record.Record, callID string, terms json.RawMessage) Entry {
	return newEntry(OpenedKind, openedData{
		Schema: record.Schema, BootID: r.BootID, CreatedAt: r.CreatedAt, Path: r.Path, Worktree: r.Worktree, Fork: r.Fork, Nested: r.Nested, Resumes: r.Resumes,
		Resident: r.Resident, Background: r.Background, Detached: r.Detached, Cleanup: r.Cleanup, CallID: callID, Label: r.Label, Metadata: r.Metadata, AskedBy: r.AskedBy, Terms: terms,
	})
}

// EndedEntry is the one that comes before its session_end.
func EndedEntry(r *record.Record) Entry {
	return newEntry(endedKind, endedData{StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error, EndedBy: r.EndedBy, Worktree: r.Worktree, Idle: r.Work.Idle, Evidence: r.Work.Evidence})
}

// ResultsID is the id of the message that has the results of the calls of
// another one.
func ResultsID(messageID string) string { return messageID + "_results" }

// ToldEntry is a message that the session has for its model.
func MessageEntry(id, text string) Entry {
	return newEntry(messageKind, messageData{ID: id, Role: model.User, Text: text})
}

// KnownEntry says that the result of a call, which follows, tells the model what the
// messages of these ids would.
func DeliveredEntry(callID string, ids []string) Entry {
	return newEntry(knownKind, knownData{callID, ids})
}

// ResultsEntry is a text that the model is told with the results of the calls of
// a message.
func ResultsEntry(messageID, text string) Entry {
	return newEntry(messageKind, messageData{ID: ResultsID(messageID), Role: model.User, Text: text, Answers: messageID})
}

// BudgetEntry is what the session may use, as [State.Budget] has it. The last one
// counts.
func BudgetEntry(budget json.RawMessage) Entry { return newEntry(budgetKind, budget) }

// ReservedEntry is what was set aside for the model call that follows: tokens, and
// their cost in billionths of a US dollar. Without any: the call has used nothing.
func ReservedEntry(tokens, cost int64) Entry {
	return newEntry(reserveKind, reserveData{tokens, cost})
}

// SaidEntry is what no event says of a message of the model, whose text may be masked
// there. needed false: they say all.
func ReplyEntry(id string, m *model.Message, masked bool) (entry Entry, needed bool) {
	if len(m.Reasoning) == 0 && (m.Text != "" || len(m.ToolCalls) > 0) && !masked {
		return Entry{}, false
	}
	said := messageData{ID: id, Role: model.Assistant, Reasoning: m.Reasoning}
	if masked {
		said.Text = m.Text
	}
	return newEntry(messageKind, said), true
}

// AskedEntry says that somebody has told the session what to do who is not among those who
// have done that before.
func AskedEntry(by record.Person) Entry { return newEntry(askedKind, askedData{by}) }
