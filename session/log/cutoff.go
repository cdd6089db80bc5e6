package log

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// maxLatest bounds what is shown of a tool's result, in bytes.
const maxLatest = 4 << 10

// Latest returns why the session has not completed. If its model has said nothing, its
// latest tool result is included.
func (st *State) Latest(why string) string {
	if st.Partial != "" || strings.TrimSpace(st.latest) == "" {
		return why
	}
	result := termtext.CutBytes(st.latest, maxLatest)
	if len(result) < len(st.latest) {
		result += "…"
	}
	return why + "\n\nThe latest tool result:\n" + result
}

// lastResult returns the outcome of the last call that has one.
func (f *fold) lastResult() string {
	for _, g := range slices.Backward(f.order) {
		for _, call := range slices.Backward(g.message.ToolCalls) {
			if result, ended := g.results[call.ID]; ended {
				return result.Text
			}
		}
	}
	return ""
}

// lastText returns the last text of the model, complete or not.
func (f *fold) lastText() string {
	if f.draft != nil && f.draft.text.Len() > 0 {
		return f.draft.text.String()
	}
	for _, m := range slices.Backward(f.Messages) {
		if m.Role == model.Assistant && m.Text != "" {
			return strings.TrimSuffix(m.Text, cutNote)
		}
	}
	return ""
}

// cutShort notes which calls of a message have no outcome, and the results of the
// others.
func (f *fold) cutShort(g *group) {
	results := make([]model.ToolResult, len(g.message.ToolCalls))
	for i, call := range g.message.ToolCalls {
		result, ended := g.results[call.ID]
		if !ended {
			f.Open = append(f.Open, call)
		}
		results[i] = result
	}
	if f.cut == nil {
		f.cut = make(map[string][]model.ToolResult)
	}
	f.cut[g.message.ID] = results
}

// Completed returns the messages, with a text as the outcome of the calls without one.
func (st *State) Completed(text string) []*Message {
	var all []*Message
	for _, m := range st.Sent {
		all = append(all, m)
		if results := slices.Clone(st.cut[m.ID]); results != nil && m.Role == model.Assistant {
			for i, r := range results {
				if r.ToolCallID == "" {
					results[i] = model.ToolResult{ToolCallID: m.ToolCalls[i].ID, Text: text, IsError: true}
				}
			}
			all = append(all, &Message{
				Schema: record.Schema, ID: ResultsID(m.ID), SessionID: m.SessionID, CreatedAt: m.CreatedAt,
				Message: model.Message{Role: model.User, ToolResults: results},
			})
		}
	}
	return all
}

// UpTo returns the messages of Completed up to those of a step, with its results. 0 means all of
// them. ok is false if the session has no such step.
func (st *State) UpTo(step int, text string) (messages []*Message, ok bool) {
	all, at := st.Completed(text), 0
	if step == 0 {
		return all, true
	}
	for i, m := range all {
		if m.Role != model.Assistant {
			continue
		}
		at = cmp.Or(st.steps[m.ID], at+1)
		if at > step {
			return all[:i:i], false
		}
		if at == step {
			end := i + 1
			if end < len(all) && len(all[end].ToolResults) > 0 {
				end++
			}
			return all[:end:end], true
		}
	}
	return all, false
}
