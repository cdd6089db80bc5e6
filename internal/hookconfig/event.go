package hookconfig

import "strings"

// Event is when a hook runs, in Claude Code's words.
type Event string

// The events.
const (
	SessionStart       Event = "SessionStart"
	UserPromptSubmit   Event = "UserPromptSubmit"
	SubagentStart      Event = "SubagentStart"
	PreToolUse         Event = "PreToolUse"
	PermissionRequest  Event = "PermissionRequest"
	Notification       Event = "Notification"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	PreCompact         Event = "PreCompact"
	SubagentStop       Event = "SubagentStop"
	Stop               Event = "Stop"
	SessionEnd         Event = "SessionEnd"
)

// kind is what the hooks of an event can do.
type kind struct {
	event   Event
	copilot string // its name in Copilot's files; empty means the event's with a small first letter
	tool    bool   // it is about the call of a tool: matchers and "if" name tools
	guards  bool   // without an answer the call is not made
	refuses bool   // a deny keeps from happening what it is about
	text    bool   // what a hook prints that is no JSON is for the model
}

// kinds has a row for each event, in the order in which they come.
var kinds = []kind{
	{event: SessionStart, text: true},
	{event: UserPromptSubmit, copilot: "userPromptSubmitted", refuses: true, text: true},
	{event: SubagentStart, text: true},
	{event: PreToolUse, tool: true, guards: true, refuses: true},
	{event: PermissionRequest, tool: true, guards: true, refuses: true},
	{event: Notification},
	{event: PostToolUse, tool: true},
	{event: PostToolUseFailure, tool: true},
	{event: PreCompact, refuses: true},
	{event: SubagentStop},
	{event: Stop, copilot: "agentStop"},
	{event: SessionEnd},
}

// Events returns all events, in the order in which they come.
func Events() (events []Event) {
	for _, k := range kinds {
		events = append(events, k.event)
	}
	return events
}

func (e Event) kind() kind {
	for _, k := range kinds {
		if k.event == e {
			return k
		}
	}
	return kind{event: e}
}

// OfTool reports whether the event is about the call of a tool.
func (e Event) OfTool() bool { return e.kind().tool }

// Guards reports whether a hook of the event can keep a call from being made: without an
// answer of it, the call is not.
func (e Event) Guards() bool { return e.kind().guards }

// Refuses reports whether a deny keeps from happening what the event is about.
func (e Event) Refuses() bool { return e.kind().refuses }

// TakesText reports whether a text that a hook of the event prints, and that is no JSON, is for
// the model.
func (e Event) TakesText() bool { return e.kind().text }

// eventOf returns the event of a key, and whose dialect it is.
func eventOf(key string) (Event, Dialect, bool) {
	for _, k := range kinds {
		small := k.copilot
		if small == "" {
			small = strings.ToLower(string(k.event[:1])) + string(k.event[1:])
		}
		switch key {
		case string(k.event):
			return k.event, Claude, true
		case small:
			return k.event, Copilot, true
		}
	}
	return "", "", false
}
