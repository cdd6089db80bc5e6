package log

import (
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/record"
)

// OpenedEntry returns the first entry of a session's log. The call callID has made the
// session. For whichever process resumes it, terms say how it was called; nil means it is
// never resumed.
func OpenedEntry(r *record.Record, callID string, terms json.RawMessage) Entry {
	return openedKind.entry(openedData{
		Schema: record.Schema, BootID: r.BootID, CreatedAt: r.CreatedAt, Path: r.Path, Worktree: r.Worktree, Fork: r.Fork, Nested: r.Nested, Resumes: r.Resumes, FromStep: r.FromStep,
		Resident: r.Resident, Background: r.Background, Detached: r.Detached, Cleanup: r.Cleanup, CallID: callID, Label: r.Label, Metadata: r.Metadata, AskedBy: r.AskedBy, Terms: terms,
	})
}

// EndedEntry returns the entry that comes before a session's session_end.
func EndedEntry(r *record.Record) Entry {
	return endedKind.entry(endedData{StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error, EndedBy: r.EndedBy, Worktree: r.Worktree, Total: r.Total, Idle: r.Work.Idle, Evidence: r.Work.Evidence})
}

// ResultsID returns the id of the message with the results of another message's calls.
func ResultsID(messageID string) string { return messageID + "_results" }

// MessageEntry returns the entry of a message for the session's model.
func MessageEntry(id, text string, images ...model.Image) Entry {
	return messageKind.entry(messageData{ID: id, Role: model.User, Text: text, Images: images})
}

// DeliveredEntry returns the entry that marks messages as delivered by the result of a
// call. The result follows.
func DeliveredEntry(callID string, ids []string) Entry {
	return knownKind.entry(knownData{callID, ids})
}

// ResultsEntry returns the entry of a text for the model, sent with the results of a
// message's calls.
func ResultsEntry(messageID, text string) Entry {
	return messageKind.entry(messageData{ID: ResultsID(messageID), Role: model.User, Text: text, Answers: messageID})
}

// BudgetEntry returns the entry of what the session may use ([State.Budget]). The last one
// counts.
func BudgetEntry(budget json.RawMessage) Entry { return budgetKind.entry(budget) }

// ReservedEntry returns the entry of what is set aside for the next model call: tokens, and
// their cost in billionths of a US dollar. Zeros mean that the call has used nothing.
func ReservedEntry(tokens, cost int64) Entry {
	return reserveKind.entry(reserveData{tokens, cost})
}

// ReplyEntry returns the entry of what events lack of a model's message. masked says that
// they mask its text. needed false means they lack nothing.
func ReplyEntry(id string, m *model.Message, masked bool) (entry Entry, needed bool) {
	if len(m.Reasoning) == 0 && (m.Text != "" || len(m.ToolCalls) > 0) && !masked {
		return Entry{}, false
	}
	reply := messageData{ID: id, Role: model.Assistant, Reasoning: m.Reasoning}
	if masked {
		reply.Text = m.Text
	}
	return messageKind.entry(reply), true
}

// AskedEntry returns the entry of a person who tells the session what to do for the first
// time.
func AskedEntry(by record.Person) Entry { return askedKind.entry(askedData{by}) }

// CompactedEntry returns the entry that shortens what the model is sent. It keeps the
// message with the number task, counted from the end (1: the last), and the last kept
// messages. The text comes between them.
func CompactedEntry(id, text string, task, kept int) Entry {
	return compactKind.entry(compactedData{ID: id, Text: text, Task: task, Kept: kept})
}

// TitledEntry returns the entry with a model's title of the session. It replaces the
// description.
func TitledEntry(title string, usage model.Usage) Entry {
	return titledKind.entry(titledData{title, usage})
}

// AgentEntry returns the entry with which the session continues as another agent, on a
// model. Its terms replace those of [OpenedEntry].
func AgentEntry(agent, model string, terms json.RawMessage) Entry {
	return agentKind.entry(agentData{agent, model, terms})
}

// ModelEntry returns the entry with which the session continues on another model.
func ModelEntry(model string) Entry { return agentKind.entry(agentData{Model: model}) }

// UnmaskedEntry returns the entry with the unmasked form of an event, for the session
// itself. It comes before the masked event. needed false means that nobody reads that form
// from the log.
func UnmaskedEntry(ev event.Event) (entry Entry, needed bool) {
	if unmaskedKey(ev) == "" {
		return Entry{}, false
	}
	data, err := event.Encode(ev)
	if err != nil {
		panic(err)
	}
	return unmaskedKind.entry(json.RawMessage(data)), true
}

// HiddenEntry returns the entry with what a session's model reads instead of credentials.
func HiddenEntry(all []hidden.Placeholder) Entry { return hiddenKind.entry(all) }
