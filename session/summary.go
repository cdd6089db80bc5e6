package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// Bounds of a summary, in bytes: of what is summarised, and of the summary.
const (
	maxSummarised = 100 << 10
	maxSummary    = 4 << 10
)

// tellAbout is what the model is told that gives a summary.
const tellAbout = "Summarise the session of the agent %q, which is %s.\n\nThe session:\n%s"

// Summary is what a model says about a session.
type Summary struct {
	SessionID string      `json:"sessionId"`
	Text      string      `json:"text"`
	Model     string      `json:"model"`
	Usage     model.Usage `json:"usage"` // of the call that has made it, which is no part of the session
}

// Summarise has a helper say what a session is about, in one call. Where its model can't
// be had, the default answers. Nothing of it is stored.
func (m *Manager) Summarise(ctx context.Context, h *Helper, id string) (*Summary, error) {
	r, err := m.store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	stored, err := m.store.Conversation(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	messages := make([]model.Message, len(stored))
	for i, s := range stored {
		messages[i] = s.Message
	}
	if len(messages) == 0 {
		return nil, fmt.Errorf("session %s has no conversation of its own to summarise", r.ID)
	}
	by, err := m.models.Named(h.Model)
	if err != nil {
		if by, err = m.models.Named(""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.limits.ModelCall)
	defer cancel()
	how := string(r.Status)
	if r.Status == store.Failed || r.Status == store.TimedOut {
		how += " (" + termtext.OneLine(r.Error, 500) + ")"
	}
	prompt := fmt.Sprintf(tellAbout, r.Agent, how, render(messages, maxSummarised))
	text, usage, err := m.models.Answer(ctx, by, &model.Request{System: h.System, Messages: []model.Message{{Role: model.User, Text: prompt}}, Path: r.Path.IDs(), Params: h.Params})
	if err != nil {
		return nil, err
	}
	return &Summary{SessionID: r.ID, Text: termtext.CutBytes(strings.TrimSpace(text), maxSummary), Model: by.Name(), Usage: usage}, nil
}
