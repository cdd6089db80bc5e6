package session

import (
	"context"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

// maxTitle is the longest title of a session, in characters.
const maxTitle = 80

// Entitle has a helper give the session a title, from its first prompt, in place of its
// description. It may run beside the session's turn, and is over before [Session.End].
// Without the helper's model, and with a budget, there is no title.
func (s *Session) Entitle(ctx context.Context, h *Helper, prompt string) error {
	if _, err := s.m.models.For(s.Agent(), h.Model); err != nil || h.Model == "" || s.budget != nil {
		return nil // a title is worth a small model, and nothing of a budget
	}
	text, usage, err := s.consult(ctx, h, "The prompt:\n"+termtext.CutBytes(prompt, maxShownText))
	if err != nil {
		return err
	}
	title := termtext.OneLine(strings.Trim(strings.TrimSpace(text), "\"'`*#. "), maxTitle)
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
