package models

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/model"
)

// paced is a model that waits before each part.
type paced struct {
	every time.Duration
	parts []model.Part
}

func (paced) Name() string { return "paced" }

func (p paced) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		for _, part := range p.parts {
			select {
			case <-time.After(p.every):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

// TestLimits: a limit is one of silence. What streams for longer than that goes on, up to the total.
func TestLimits(t *testing.T) {
	many := func(n int, part model.Part) (all []model.Part) {
		for range n {
			all = append(all, part)
		}
		return append(all, model.Stop{Reason: model.StopEnd})
	}
	so := model.TextDelta{Text: "so"}
	for _, test := range []struct {
		name      string
		model     paced
		slow      time.Duration // of who reads
		fails     bool
		transient bool
	}{
		{"slow text", paced{time.Minute, many(10, so)}, 0, false, false},
		{"arguments of a tool call", paced{time.Minute, many(10, model.ToolCallDelta{})}, 0, false, false},
		{"thinking", paced{time.Minute, many(10, model.ReasoningDelta{Text: "hm"})}, 0, false, false},
		{"a slow reader", paced{time.Second, many(3, so)}, 5 * time.Minute, false, false},
		{"a try after a wait", paced{3 * time.Minute, many(0, so)}, 0, true, true},
		{"silence", paced{3 * time.Minute, many(1, so)}, 0, true, true},
		{"the whole", paced{time.Minute, many(60, so)}, 0, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var last error
			for _, err := range (Limits{Silence: 2 * time.Minute, Total: 30 * time.Minute}).Stream(t.Context(), test.model, &model.Request{}) {
				last = err
				<-time.After(test.slow)
			}
			e, late := errors.AsType[*model.Error](last)
			if late != test.fails || late && (e.Kind != model.ErrTimeout || Transient(last) != test.transient) {
				t.Errorf("%s: got %v (transient %v), want an error: %v, transient: %v", test.name, last, Transient(last), test.fails, test.transient)
			}
		})
	}
}

// TestLimitsRetry: the wait before another try of the adapter's is no silence.
func TestLimitsRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := paced{3 * time.Minute, []model.Part{model.Stop{Reason: model.StopEnd}}}
		waits := retrying{m}
		for _, err := range (Limits{Silence: 2 * time.Minute, Total: 30 * time.Minute}).Stream(t.Context(), waits, &model.Request{}) {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

type retrying struct{ paced }

func (r retrying) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if !yield(model.Retry{Reason: model.ErrRateLimited, Try: 2, Tries: 3, Wait: 2 * time.Minute}, nil) {
			return
		}
		r.paced.Stream(ctx, req)(yield)
	}
}

// TestLimitsCaller: the end of the caller's context stays the caller's.
func TestLimitsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last error
		for _, err := range (Limits{Silence: 2 * time.Minute, Total: 30 * time.Minute}).Stream(ctx, paced{time.Hour, []model.Part{model.Stop{}}}, &model.Request{}) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", last)
		}
	})
}

// TestAnswerSteady: a helper's answer may take longer than the limit of silence.
func TestAnswerSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Models
		slow := paced{time.Minute, []model.Part{model.TextDelta{Text: "s"}, model.TextDelta{Text: "o"}, model.Stop{Reason: model.StopEnd}}}
		got, _, err := m.Answer(t.Context(), slow, &model.Request{}, Limits{Silence: 90 * time.Second, Total: time.Hour})
		if err != nil || got != "so" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
