package replaymodel

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/model"
)

var _ model.Model = (*Model)(nil)

// Model plays a script.
type Model struct {
	name   string
	script Script
}

// New returns a model of a name that plays script. The script is not to be
// changed afterwards.
func New(name string, script Script) *Model { return &Model{name: name, script: script} }

// maxScript bounds a script, in bytes: an agent file may name any path.
const maxScript = 64 << 20

// Load reads the script at path, a regular file of at most 64 MiB. The model's
// name is "replay/" and the path.
func Load(path string) (*Model, error) {
	data, err := boundedfile.Read(path, maxScript)
	if err != nil {
		return nil, fmt.Errorf("reading a replay script: %w", err)
	}
	script, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("replay script %s: %w", path, err)
	}
	return New("replay/"+path, script), nil
}

// Name implements [model.Model].
func (m *Model) Name() string { return m.name }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		fail := func(err error) { yield(nil, err) }
		cancelled := func() { fail(fmt.Errorf("%s: %w", m.name, ctx.Err())) }
		turn, err := m.script.Turn(req)
		if err != nil {
			fail(&model.Error{Model: m.name, Kind: model.ErrInvalid, Message: err.Error(), Err: err})
			return
		}
		parts := turn.content()
		for _, part := range parts {
			if !wait(ctx, turn.delay()) {
				cancelled()
				return
			}
			if !yield(part, nil) {
				return
			}
		}
		if turn.Hang {
			<-ctx.Done()
		}
		switch {
		case ctx.Err() != nil:
			cancelled()
		case turn.Cut:
			fail(&model.Error{
				Model: m.name, Kind: model.ErrUnavailable, Message: "the connection broke before the answer was complete",
			})
		case turn.Error != nil && turn.Error.Times == 0:
			fail(turn.Error.as(m.name, len(parts) > 0))
		default:
			if turn.Usage != nil && !yield(*turn.Usage, nil) {
				return
			}
			yield(model.Stop{Reason: turn.Stop}, nil)
		}
	}
}

// content returns the parts of a turn without the usage and the stop.
func (t *Turn) content() []model.Part {
	var parts []model.Part
	for _, text := range t.Reasoning {
		if text != "" {
			parts = append(parts, model.ReasoningDelta{Text: text})
		}
	}
	if thought := t.Reasoning.String(); thought != "" || t.Signature != "" {
		parts = append(parts, model.Reasoning{Text: thought, Signature: t.Signature})
	}
	if t.Redacted != "" {
		parts = append(parts, model.Reasoning{Redacted: t.Redacted})
	}
	for _, text := range t.Text {
		if text != "" {
			parts = append(parts, model.TextDelta{Text: text})
		}
	}
	for _, call := range t.ToolCalls {
		parts = append(parts, model.ToolCall{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)})
	}
	return parts
}

// as returns the error that an adapter would yield. An answer that has begun
// has come with a good status.
func (f *Failure) as(name string, begun bool) *model.Error {
	err := &model.Error{
		Model: name, Kind: f.Kind, Status: f.Status, Message: f.Message,
		RetryAfter: time.Duration(f.RetryAfterMs) * time.Millisecond,
	}
	if begun {
		err.Status, err.RetryAfter = 0, 0
	}
	return err
}

func (t *Turn) delay() time.Duration { return time.Duration(t.DelayMs) * time.Millisecond }

// wait waits for d, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
