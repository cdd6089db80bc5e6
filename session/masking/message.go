package masking

import (
	"slices"

	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
)

// Message masks a message of a conversation: text, reasoning, calls and results.
func Message(m *model.Message) {
	m.Text = secrets.Mask(m.Text)
	m.Reasoning = slices.Clone(m.Reasoning)
	for i := range m.Reasoning {
		m.Reasoning[i].Text = secrets.Mask(m.Reasoning[i].Text)
	}
	m.Images = each(m.Images, image)
	m.ToolCalls = each(m.ToolCalls, Call)
	m.ToolResults = slices.Clone(m.ToolResults)
	for i := range m.ToolResults {
		m.ToolResults[i].Text = secrets.Mask(m.ToolResults[i].Text)
		m.ToolResults[i].Images = each(m.ToolResults[i].Images, image)
	}
}

// image masks the name of an image. Nobody can mask what it shows.
func image(i model.Image) model.Image {
	i.Name = secrets.Mask(i.Name)
	return i
}

// Call returns a call as its event shows it.
func Call(c model.ToolCall) model.ToolCall {
	return model.ToolCall{ID: c.ID, Name: secrets.Mask(c.Name), Arguments: secrets.MaskJSON(c.Arguments)}
}
