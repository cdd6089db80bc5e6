package modeltest_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
)

// step is a value of a stream.
type step struct {
	part model.Part
	err  error
}

func stream(steps ...step) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		for _, s := range steps {
			if !yield(s.part, s.err) {
				return
			}
		}
	}
}

// TestRules: Collect says which rule an answer breaks.
func TestRules(t *testing.T) {
	failure := errors.New("broken")
	text, stop := step{part: model.TextDelta{Text: "a"}}, step{part: model.Stop{Reason: model.StopEnd}}
	call := step{part: model.ToolCall{ID: "a", Name: "b", Arguments: "{}"}}
	for _, test := range []struct {
		name  string
		steps []step
		want  string // a part of the error; empty means none
	}{
		{"complete", []step{text, call, {part: model.Usage{}}, stop}, ""},
		{"an error", []step{text, {err: failure}}, "broken"},
		{"nothing", nil, "ended without a stop"},
		{"no stop", []step{text}, "ended without a stop"},
		{"two stops", []step{stop, stop}, "came after the stop"},
		{"text after the stop", []step{stop, text}, "came after the stop"},
		{"an error after the stop", []step{stop, {err: failure}}, "came after the stop"},
		{"text after an error", []step{{err: failure}, text}, "came after the error"},
		{"a part with an error", []step{{part: model.Usage{}, err: failure}}, "came with the part"},
		{"neither", []step{{}, stop}, "neither a part nor an error"},
		{"empty text", []step{{part: model.TextDelta{}}, stop}, "is empty"},
		{"half a character", []step{{part: model.TextDelta{Text: "ä"[:1]}}, stop}, "no UTF-8"},
		{"empty reasoning", []step{{part: model.ReasoningDelta{}}, stop}, "is empty"},
		{"a call without an id", []step{{part: model.ToolCall{Name: "b", Arguments: "{}"}}, stop}, "lacks an id"},
		{"one id for two", []step{call, call, stop}, "lacks an id of its own"},
		{"a call without arguments", []step{{part: model.ToolCall{ID: "a", Name: "b"}}, stop}, "lacks"},
		{"no reason", []step{{part: model.Stop{}}}, "no reason"},
	} {
		got, err := modeltest.Collect(stream(test.steps...))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %+v, %v, want the error %q", test.name, got, err, test.want)
		}
	}
}
