package models

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
)

// Limits bound a call of a model.
type Limits struct {
	Silence time.Duration // how long nothing may come of the answer
	Total   time.Duration
	Hides   *hidden.View // keeps credentials from the model; nil hides none
}

// errTotal is in the error of a call that has taken too long as a whole.
var errTotal = errors.New("the call has taken too long")

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

// Stream asks a model, within limits. A call that passes one ends with a [model.Error] of the kind
// timeout. Each part ends a silence, and what the caller does with it is none.
func (l Limits) Stream(ctx context.Context, by model.Model, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		late := func(cause error, what string, limit time.Duration) error {
			return &model.Error{Model: by.Name(), Kind: model.ErrTimeout, Message: what + errtext.Duration(limit), Err: cause}
		}
		whole, release := context.WithTimeoutCause(ctx, l.Total, late(errTotal, "no complete answer within ", l.Total))
		defer release()
		call, cancel := context.WithCancelCause(whole)
		defer cancel(nil)
		silence := time.AfterFunc(l.Silence, func() { cancel(late(nil, "nothing came of the answer for ", l.Silence)) })
		defer silence.Stop()
		passed := func() error {
			failed, ok := errors.AsType[*model.Error](context.Cause(call))
			if !ok || ctx.Err() != nil {
				return nil
			}
			return failed
		}
		asked := model.WithAsker(call, model.Asker{Agent: req.Agent, Session: last(req.Path)})
		for part, err := range by.Stream(asked, l.Hides.Request(req)) {
			if err != nil {
				if why := passed(); why != nil {
					err = why
				}
				yield(nil, err)
				return
			}
			silence.Stop()
			if !yield(part, nil) {
				return
			}
			wait := l.Silence
			if retry, again := part.(model.Retry); again {
				wait += retry.Wait
			}
			silence.Reset(wait)
		}
		if why := passed(); why != nil {
			yield(nil, why)
		}
	}
}
