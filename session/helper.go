package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/store"
)

// Helper is an agent that does a small work for others in one call of a model, without
// tools.
type Helper struct {
	System string
	Model  string // empty means that of the session it works for
	Params Params
}

// consult has a helper answer a prompt, and returns what that has used. Where the
// helper's model can't be had, the session's answers.
func (s *Session) consult(ctx context.Context, h *Helper, prompt string) (answer string, usage model.Usage, err error) {
	s.mu.Lock()
	m := s.model
	s.mu.Unlock()
	if h.Model != "" {
		if own, err := s.m.models.For(s.Agent(), h.Model); err == nil {
			m = own
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.m.limits.ModelCall)
	defer cancel()
	req := &model.Request{System: h.System, Messages: []model.Message{{Role: model.User, Text: prompt}}, Path: s.path.IDs(), Params: h.Params}
	reserved, err := s.reserve(ctx, m, req)
	if err != nil {
		return "", usage, err
	}
	defer func() { s.settle(reserved, &usage, err) }()
	return s.m.models.Answer(ctx, m, req)
}

// askHelper has a helper answer, on its own model alone, and counts what that has used.
func (s *Session) askHelper(ctx context.Context, h *Helper, prompt string) (string, error) {
	if _, err := s.m.models.For(s.Agent(), h.Model); err != nil {
		return "", err
	}
	answer, usage, err := s.consult(ctx, h, prompt)
	if err != nil {
		return "", err
	}
	return answer, s.used(usage)
}

// maxTitle is the longest title of a session, in characters.
const maxTitle = 80

// Entitle has a helper give the session a title, from its first prompt, in place of its
// description. It may run beside the session's turn, and is over before [Session.End].
// Without the helper's model, and with a budget, there is no title.
func (s *Session) Entitle(ctx context.Context, h *Helper, prompt string) error {
	if _, err := s.m.models.For(s.Agent(), h.Model); err != nil || h.Model == "" || s.budget != nil {
		return nil // a title is worth a small model, and nothing of a budget
	}
	text, usage, err := s.consult(ctx, h, "The prompt:\n"+termtext.CutBytes(prompt, conversation.MaxText))
	if err != nil {
		return err
	}
	title := termtext.OneLine(secrets.Mask(strings.Trim(strings.TrimSpace(text), "\"'`*#. ")), maxTitle)
	if title == "" {
		return nil
	}
	s.append(store.TitledEntry(title, usage))
	return s.change(func(r *store.Record) error {
		r.Description = title
		r.Steps++
		r.Usage = r.Usage.Add(usage)
		return nil
	})
}

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
	prompt := fmt.Sprintf(tellAbout, r.Agent, how, conversation.Render(messages, maxSummarised))
	text, usage, err := m.models.Answer(ctx, by, &model.Request{System: h.System, Messages: []model.Message{{Role: model.User, Text: prompt}}, Path: r.Path.IDs(), Params: h.Params})
	if err != nil {
		return nil, err
	}
	return &Summary{SessionID: r.ID, Text: termtext.CutBytes(secrets.Mask(strings.TrimSpace(text)), maxSummary), Model: by.Name(), Usage: usage}, nil
}
