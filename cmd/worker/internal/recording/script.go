package recording

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/agentworker/worker/model"
)

// Script answers as models have in conversations that were stored, whatever the results of tools
// are now. A request is known by the first message and by the answers so far. It is safe for
// concurrent use.
type Script struct {
	normal *Normal // of the conversations that were stored
	model  string

	mu      sync.Mutex
	answers map[string][]Answer
}

// NewScript returns an empty script. n is for its conversations, and name is that of their model.
func NewScript(n *Normal, name string) *Script {
	return &Script{normal: n, model: name, answers: make(map[string][]Answer)}
}

// Add adds a conversation.
func (s *Script) Add(messages []model.Message) {
	for i, m := range messages {
		if m.Role == model.Assistant {
			key := s.normal.said(messages[:i])
			s.answers[key] = append(s.answers[key], Answer{Message: m}.mapped(s.normal.folders.Replace))
		}
	}
}

// Model returns a function with the model of a run, whatever its name. n is that of the run.
func (s *Script) Model(n *Normal) func(name string) (model.Model, error) {
	return func(string) (model.Model, error) { return &scripted{s, n}, nil }
}

// said is what a request is known by.
func (n *Normal) said(messages []model.Message) string {
	var b strings.Builder
	for i := range messages {
		if i == 0 || messages[i].Role == model.Assistant {
			b.WriteString(n.message(&messages[i]) + "\x00")
		}
	}
	return b.String()
}

// scripted is the model of a run by a script.
type scripted struct {
	by     *Script
	normal *Normal
}

// Name implements [model.Model].
func (m *scripted) Name() string { return cmp.Or(m.by.model, "recording") }

// Stream implements [model.Model].
func (m *scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if ctx.Err() != nil {
			yield(nil, ctx.Err())
			return
		}
		answer, ok := m.by.next(m.normal.said(req.Messages))
		if !ok {
			yield(nil, &model.Error{Model: m.Name(), Kind: model.ErrInvalid, Message: "the session has no answer to this call"})
			return
		}
		here := answer.mapped(m.normal.back.Replace)
		for _, part := range here.parts() {
			if !yield(part, nil) {
				return
			}
		}
	}
}

// next removes and returns the first answer to a request.
func (s *Script) next(key string) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.answers[key]
	if len(left) == 0 {
		return Answer{}, false
	}
	s.answers[key] = left[1:]
	return left[0], true
}
