package recording

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/agentworker/worker/model"
)

// Recorder records the calls of models. It is safe for concurrent use.
type Recorder struct {
	normal *Normal

	mu  sync.Mutex
	rec *Recording
}

// NewRecorder returns a recorder of a run.
func NewRecorder(n *Normal) *Recorder { return &Recorder{normal: n, rec: New()} }

// Recording returns what was recorded. Call it after the run.
func (r *Recorder) Recording() *Recording { return r.rec }

// Models returns a function that has the calls of the models of get recorded.
func (r *Recorder) Models(get func(name string) (model.Model, error)) func(name string) (model.Model, error) {
	return func(name string) (model.Model, error) {
		m, err := get(name)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rec.Models[name] = m.Name()
		return &recorded{m, r}, nil
	}
}

// recorded is a model whose calls are recorded.
type recorded struct {
	model.Model
	to *Recorder
}

// Stream implements [model.Model].
func (m *recorded) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		m.to.mu.Lock()
		call := m.to.normal.call(m.to.rec, req)
		m.to.mu.Unlock()
		call.Answer.Role = model.Assistant
		for part, err := range m.Model.Stream(ctx, req) {
			if err != nil && ctx.Err() == nil {
				call.Answer.Error = failureOf(err)
				m.to.add(call)
			}
			call.Answer.add(part)
			if _, ended := part.(model.Stop); ended {
				m.to.add(call)
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

func (r *Recorder) add(c *Call) {
	c.Answer = c.Answer.mapped(r.normal.folders.Replace)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Calls = append(r.rec.Calls, c)
}

func failureOf(err error) *Failure {
	if failed, ok := errors.AsType[*model.Error](err); ok {
		return &Failure{failed.Kind, failed.Status, failed.Message}
	}
	return &Failure{Message: err.Error()}
}

// add adds a part of the answer.
func (a *Answer) add(part model.Part) {
	switch part := part.(type) {
	case model.TextDelta:
		a.Text += part.Text
	case model.TextWasReasoning:
		a.Text = ""
	case model.Reasoning:
		a.Reasoning = append(a.Reasoning, part)
	case model.ToolCall:
		a.ToolCalls = append(a.ToolCalls, part)
	case model.Usage:
		a.Usage = &part
	case model.Stop:
		a.Stop = part.Reason
	}
}
