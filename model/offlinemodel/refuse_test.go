package offlinemodel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
)

// What the model cannot do is said at once: nothing is looked up.
func TestSaysWhatItCannotDo(t *testing.T) {
	for prompt, refused := range map[string]bool{
		"Add a test for the bulk rebate.":                                 true,
		"Please fix the rebate in pricing/price.go":                       true,
		"Could you please rename Price to Cost?":                          true,
		"I want you to refactor the config package":                       true,
		"Run the tests and tell me what fails":                            true,
		"implement caching in config.go":                                  true,
		"How do I add a rebate?":                                          false,
		"Where are rebates added?":                                        false,
		"What does the change in price.go do?":                            false,
		"Write a summary of the pricing package":                          false,
		"Create a short list of the rebates":                              false,
		"Make sure you find the bulk rebate: where is it?":                false,
		"Please explain how the rebate is decided":                        false,
		"Updates of the price: where do they happen?":                     false,
		"Can you tell me where the config is loaded?":                     false,
		"The rebate is wrong since the last release. Where is it set up?": false,
	} {
		ws := open(t, "go.txtar")
		got := ws.ask(t, prompt)
		if said := strings.Contains(got, "cannot do that"); said != refused || refused && len(ws.calls) > 0 {
			t.Errorf("asked %q: refused %v after %d calls, want %v:\n%s", prompt, said, len(ws.calls), refused, got)
		}
	}
	ws := primary("explore") // nor does it go to a subagent
	if got := ws.ask(t, "Please add a rebate"); len(ws.calls) > 0 || !strings.Contains(got, "cannot do that") {
		t.Errorf("%d calls, answer %s", len(ws.calls), got)
	}
}

// An answer that must satisfy a schema is refused as an error: text would be
// sent back to be corrected.
func TestSchemaIsRefused(t *testing.T) {
	parts, err := listen(t.Context(), &model.Request{
		System:   "You are an agent.\n- Your last message must be one JSON value and nothing else, no text around it, that satisfies this JSON Schema: {\"type\":\"object\"}\n",
		Messages: []model.Message{{Role: model.User, Text: "Where is the rebate?"}}, Tools: open(t, "go.txtar").specs(),
	})
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrInvalid || !strings.Contains(e.Message, "cannot fill in a schema") || len(parts) > 0 {
		t.Errorf("%d parts, error %v", len(parts), err)
	}
}
