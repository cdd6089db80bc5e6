package modeltest

import (
	"context"
	"iter"

	"github.com/agentworker/worker/model"
)

// Func is a model made of a function, whose name is "func". The function yields the
// parts of the answer, and returns an error for an answer that fails; where yield
// returns false it is to return.
type Func func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error

var _ model.Model = Func(nil)

// Name implements [model.Model].
func (Func) Name() string { return "func" }

// Stream implements [model.Model].
func (f Func) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := f(ctx, req, func(p model.Part) bool { return yield(p, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// Say returns a model that answers with these pieces of text.
func Say(pieces ...string) Func {
	return func(_ context.Context, _ *model.Request, yield func(model.Part) bool) error {
		for _, text := range pieces {
			if !yield(model.TextDelta{Text: text}) {
				return nil
			}
		}
		yield(model.Stop{Reason: model.StopEnd})
		return nil
	}
}
