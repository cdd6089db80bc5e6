package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/review"
)

// consult has a helper answer a prompt, and returns what that has used. If the helper's model
// can't be had, the session's answers.
func (s *Session) consult(ctx context.Context, h *Helper, prompt string) (answer string, usage model.Usage, err error) {
	m := s.agent.current()
	if h.Model != "" {
		if own, err := s.p.models.For(s.Agent(), h.Model); err == nil {
			m = own
		}
	}
	req := h.request(prompt, s.path)
	req.Agent = s.Agent()
	reserved, err := s.usage.reserve(ctx, m, req, conversation.Counted{}.Estimate(req))
	if err != nil {
		return "", usage, err
	}
	defer func() { s.usage.settle(reserved, &usage, err) }()
	return s.p.models.Answer(ctx, m, req, s.p.limits.ofModel(m, s.hidden))
}

// request is what the helper's model is sent.
func (h *Helper) request(prompt string, path event.Path) *model.Request {
	return &model.Request{System: h.System, Messages: []model.Message{{Role: model.User, Text: prompt}}, Path: path.IDs(), Params: h.Params}
}

// askHelper has a helper answer on its own model, and counts what that has used.
func (s *Session) askHelper(ctx context.Context, h *Helper, prompt string) (string, error) {
	if _, err := s.p.models.For(s.Agent(), h.Model); err != nil {
		return "", err
	}
	answer, usage, err := s.consult(ctx, h, prompt)
	if err != nil {
		return "", err
	}
	return answer, s.usage.add(usage)
}

// maxTitle is the longest title of a session, in characters.
const maxTitle = 80

// Entitle has a helper give the session a title from its first prompt, which replaces its
// description. It may run at the same time as a turn, and returns before [Session.End] is
// called. Without the helper's model, or with a budget, there is no title.
func (s *Session) Entitle(ctx context.Context, h *Helper, prompt string) error {
	if _, err := s.p.models.For(s.Agent(), h.Model); err != nil || h.Model == "" || s.usage.budget != nil {
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
	s.log.Append(log.TitledEntry(title, usage))
	return s.log.Set(func(r *record.Record) {
		r.Description = title
		r.Steps++
		r.Usage = r.Usage.Add(usage)
	})
}

// Bounds of a summary, in bytes: of what is summarised, and of the summary.
const (
	maxSummarised = 100 << 10
	maxSummary    = 4 << 10
)

// tellAbout is the prompt of the model that gives a summary.
const tellAbout = "Summarise the session of the agent %q, which is %s.\n\nThe session:\n%s"

// Summary is what a model says about a session.
type Summary struct {
	SessionID string      `json:"sessionId"`
	Text      string      `json:"text"`
	Model     string      `json:"model"`
	Usage     model.Usage `json:"usage"` // of the call that has made it, which the session does not count
}

// Summarise has a helper say what a session is about, in one call. If its model can't be had,
// the default model answers. Nothing of it is stored.
func (m *Manager) Summarise(ctx context.Context, h *Helper, id string) (*Summary, error) {
	r, err := m.Store().Index.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	stored, err := m.Store().Transcripts.Conversation(ctx, r.ID)
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
	by, err := m.p.models.Named(h.Model)
	if err != nil {
		if by, err = m.p.models.Named(""); err != nil {
			return nil, err
		}
	}
	how := string(r.Status)
	if r.Status == record.Failed || r.Status == record.TimedOut {
		how += " (" + termtext.OneLine(r.Error, termtext.MaxLine) + ")"
	}
	prompt := fmt.Sprintf(tellAbout, r.Agent, how, conversation.Render(messages, maxSummarised))
	hides, err := m.hides(nil, nil)
	if err != nil {
		return nil, err
	}
	text, usage, err := m.p.models.Answer(ctx, by, h.request(prompt, r.Path), m.p.limits.ofModel(by, hides))
	if err != nil {
		return nil, err
	}
	return &Summary{SessionID: r.ID, Text: termtext.CutBytes(secrets.Mask(strings.TrimSpace(text)), maxSummary), Model: by.Name(), Usage: usage}, nil
}

// reviewerHelper is the reviewer whose model has a name; nil for none.
func reviewerHelper(name string) *Helper {
	if name == "" {
		return nil
	}
	zero := 0.0
	return &Helper{System: review.System, Model: name, Params: Params{MaxOutputTokens: 300, Temperature: &zero}}
}

// reviewerOf returns the reviewer for the calls of a session. The session counts what it uses.
func reviewerOf(s *Session) func(context.Context, *review.Task, review.Call) review.Verdict {
	return func(ctx context.Context, t *review.Task, c review.Call) review.Verdict {
		return review.Judge(ctx, t, c, s.p.reviewer.Model, func(ctx context.Context, prompt string) (string, error) {
			return s.askHelper(ctx, s.p.reviewer, prompt)
		})
	}
}
