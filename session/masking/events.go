package masking

import (
	"encoding/json"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
)

// Event returns the event as it is shown, and whether that differs. Deltas it returns as
// they are: [Deltas] masks them. In a question it leaves what could hide a part of the call
// ([secrets.MaskAsked]).
func Event(ev event.Event) (shown event.Event, differs bool) {
	var m masker
	switch e := ev.(type) {
	case event.ToolCallStart:
		e.ToolName, e.Arguments = m.text(e.ToolName), m.json(e.Arguments)
		return show(&m, ev, e)
	case event.ToolCallEnd:
		e.ToolName, e.Result, e.Rule = m.text(e.ToolName), m.text(e.Result), m.text(e.Rule)
		if c := e.Change; c != nil && m.text(c.Path) != c.Path {
			e.Change = &event.FileChange{Path: m.text(c.Path), Before: c.Before, After: c.After}
		}
		return show(&m, ev, e)
	case event.ToolApprovalRequired:
		e.ToolName, e.Arguments = m.text(e.ToolName), m.noted(e.Arguments, secrets.MaskJSONAsked(e.Arguments))
		e.Patterns, e.AlwaysPatterns = m.asked(e.Patterns), m.asked(e.AlwaysPatterns)
		return show(&m, ev, e)
	case event.Check:
		e.Path, e.Command, e.Output = m.text(e.Path), m.text(e.Command), m.text(e.Output)
		return show(&m, ev, e)
	case event.TurnComplete:
		e.Message.Text = m.text(e.Message.Text)
		return show(&m, ev, e)
	case event.Plan:
		e.Text = m.text(e.Text)
		return show(&m, ev, e)
	case event.Todo:
		e.Items = each(e.Items, func(item event.TodoItem) event.TodoItem {
			item.Text = m.text(item.Text)
			return item
		})
		return show(&m, ev, e)
	case event.ContextCompacted:
		e.Summary = m.text(e.Summary)
		return show(&m, ev, e)
	case event.SessionStart:
		e.Description = m.text(e.Description)
		return show(&m, ev, e)
	case event.AssignmentChanged:
		e.Objective, e.Role = m.text(e.Objective), m.text(e.Role)
		return show(&m, ev, e)
	case event.Warning:
		e.Message = m.text(e.Message)
		return show(&m, ev, e)
	case event.Error:
		e.Message = m.text(e.Message)
		return show(&m, ev, e)
	case event.StatusChange:
		if p := e.Pause; p != nil && m.text(p.Reason) != p.Reason {
			e.Pause = &event.Pause{Until: p.Until, Reason: m.text(p.Reason)}
		}
		return show(&m, ev, e)
	case event.AgentsChanged:
		e.Diagnostics = each(e.Diagnostics, func(d json.RawMessage) json.RawMessage { return json.RawMessage(m.json(string(d))) })
		return show(&m, ev, e)
	}
	return ev, false
}

// show returns the masked event if it differs, and else the one that came: an event without
// a credential costs no memory.
func show[E event.Event](m *masker, came event.Event, masked E) (event.Event, bool) {
	if !m.differs {
		return came, false
	}
	return masked, true
}

// masker masks texts, and notes whether one of them had a credential.
type masker struct{ differs bool }

func (m *masker) noted(text, masked string) string {
	m.differs = m.differs || masked != text
	return masked
}

func (m *masker) text(text string) string { return m.noted(text, secrets.Mask(text)) }
func (m *masker) json(text string) string { return m.noted(text, secrets.MaskJSON(text)) }

func (m *masker) asked(texts []string) []string {
	return each(texts, func(text string) string { return m.noted(text, secrets.MaskAsked(text)) })
}

// Asked returns texts as a person is asked about them.
func Asked(texts []string) []string { return new(masker).asked(texts) }

// Always returns the patterns of an answer "always", or nil if one of them is shown masked: a
// rule that nobody has seen is not made, and has no credential.
func Always(patterns []string) []string {
	var m masker
	if m.asked(patterns); m.differs {
		return nil
	}
	return patterns
}

// each returns the list with f of each item, as a list of its own.
func each[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i, item := range list {
		list[i] = f(item)
	}
	return list
}
