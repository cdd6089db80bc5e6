package event

import (
	"encoding/json"
	"slices"

	"github.com/agentworker/worker/internal/secrets"
)

// Masked implements [Event]. Deltas stay as they are: a credential may begin in one and
// end in another, so what makes them masks the whole text. A [SubagentEvent] contains an
// event that its own session has masked.

func (e ToolCallStart) Masked() (Event, bool) {
	var m masker
	e.ToolName, e.Arguments = m.text(e.ToolName), m.json(e.Arguments)
	return result(&m, e)
}

func (e ToolCallEnd) Masked() (Event, bool) {
	var m masker
	e.ToolName, e.Result, e.Rule, e.Review = m.text(e.ToolName), m.text(e.Result), m.text(e.Rule), m.text(e.Review)
	e.Changes = each(e.Changes, func(c FileChange) FileChange {
		c.Path = m.text(c.Path)
		return c
	})
	e.Images = each(e.Images, func(i Image) Image {
		i.Name = m.text(i.Name)
		return i
	})
	return result(&m, e)
}

// Masked leaves what could hide a part of the call from the person who is asked.
func (e ToolApprovalRequired) Masked() (Event, bool) {
	var m masker
	e.ToolName, e.Arguments = m.text(e.ToolName), m.noted(e.Arguments, secrets.MaskJSONAsked(e.Arguments))
	e.Patterns, e.AlwaysPatterns = each(e.Patterns, m.asked), each(e.AlwaysPatterns, m.asked)
	e.Question, e.Where = e.Question.masked(&m), m.text(e.Where)
	return result(&m, e)
}

func (e Check) Masked() (Event, bool) {
	var m masker
	e.Path, e.Command, e.Output = m.text(e.Path), m.text(e.Command), m.text(e.Output)
	return result(&m, e)
}

func (e ToolProgress) Masked() (Event, bool) {
	var m masker
	e.Message, e.Level = m.text(e.Message), m.text(e.Level)
	return result(&m, e)
}

func (e CommandStart) Masked() (Event, bool) {
	var m masker
	e.Command = m.text(e.Command)
	return result(&m, e)
}

func (e CommandProgress) Masked() (Event, bool) {
	var m masker
	e.Line = m.text(e.Line)
	return result(&m, e)
}

func (e CommandEnd) Masked() (Event, bool) {
	var m masker
	e.Signal, e.StoppedBy = m.text(e.Signal), m.text(e.StoppedBy)
	return result(&m, e)
}

func (e TurnComplete) Masked() (Event, bool) {
	var m masker
	e.Message.Text = m.text(e.Message.Text)
	return result(&m, e)
}

func (e Plan) Masked() (Event, bool) {
	var m masker
	e.Text = m.text(e.Text)
	return result(&m, e)
}

func (e Todo) Masked() (Event, bool) {
	var m masker
	e.Items = each(e.Items, func(item TodoItem) TodoItem {
		item.Text = m.text(item.Text)
		return item
	})
	return result(&m, e)
}

func (e ContextCompacted) Masked() (Event, bool) {
	var m masker
	e.Summary = m.text(e.Summary)
	return result(&m, e)
}

func (e SessionStart) Masked() (Event, bool) {
	var m masker
	e.Description = m.text(e.Description)
	return result(&m, e)
}

func (e AssignmentChanged) Masked() (Event, bool) {
	var m masker
	e.Objective, e.Role = m.text(e.Objective), m.text(e.Role)
	return result(&m, e)
}

func (e Warning) Masked() (Event, bool) {
	var m masker
	e.Message = m.text(e.Message)
	return result(&m, e)
}

func (e Error) Masked() (Event, bool) {
	var m masker
	e.Message = m.text(e.Message)
	return result(&m, e)
}

func (e StatusChange) Masked() (Event, bool) {
	var m masker
	if p := e.Pause; p != nil && m.text(p.Reason) != p.Reason {
		e.Pause = &Pause{Until: p.Until, Reason: m.text(p.Reason)}
	}
	return result(&m, e)
}

func (e AgentsChanged) Masked() (Event, bool) {
	var m masker
	e.Diagnostics = each(e.Diagnostics, func(d json.RawMessage) json.RawMessage { return json.RawMessage(m.json(string(d))) })
	return result(&m, e)
}

func (ContentDelta) Masked() (Event, bool)         { return nil, false }
func (ReasoningDelta) Masked() (Event, bool)       { return nil, false }
func (SessionResumed) Masked() (Event, bool)       { return nil, false }
func (ToolApprovalResolved) Masked() (Event, bool) { return nil, false }
func (AgentChanged) Masked() (Event, bool)         { return nil, false }
func (ModelPicked) Masked() (Event, bool)          { return nil, false }

func (e ModelSwitched) Masked() (Event, bool) {
	var m masker
	e.From, e.To, e.Reason = m.text(e.From), m.text(e.To), m.text(e.Reason)
	return result(&m, e)
}

func (ModelRetry) Masked() (Event, bool)        { return nil, false }
func (Usage) Masked() (Event, bool)             { return nil, false }
func (Budget) Masked() (Event, bool)            { return nil, false }
func (Stalled) Masked() (Event, bool)           { return nil, false }
func (SessionEnd) Masked() (Event, bool)        { return nil, false }
func (MovedToBackground) Masked() (Event, bool) { return nil, false }
func (SubagentEvent) Masked() (Event, bool)     { return nil, false }
func (Unknown) Masked() (Event, bool)           { return nil, false }

// result returns the masked event if a text of it was masked. An event without a
// credential costs no memory.
func result[E Event](m *masker, masked E) (Event, bool) {
	if !m.differs {
		return nil, false
	}
	return masked, true
}

// masker masks texts, and notes whether one of them had a credential.
type masker struct{ differs bool }

func (m *masker) noted(text, masked string) string {
	m.differs = m.differs || masked != text
	return masked
}

func (m *masker) text(text string) string  { return m.noted(text, secrets.Mask(text)) }
func (m *masker) json(text string) string  { return m.noted(text, secrets.MaskJSON(text)) }
func (m *masker) asked(text string) string { return m.noted(text, secrets.MaskAsked(text)) }

// each returns the list with f of each item, as a list of its own.
func each[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i, item := range list {
		list[i] = f(item)
	}
	return list
}
