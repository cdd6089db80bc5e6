package input_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/taskt/input"
)

// TestModels: a call names models as a text with commas, or as a list.
func TestModels(t *testing.T) {
	for text, want := range map[string]string{
		`"a/b"`: "a/b", `"a, b"`: "a, b", `["a","b/c"]`: "a, b/c", `[]`: "", `null`: "", `""`: "",
	} {
		var in input.Input
		if err := json.Unmarshal([]byte(`{"model":`+text+`}`), &in); err != nil || string(in.Model) != want {
			t.Errorf("%s: %q, %v", text, in.Model, err)
		}
	}
	for _, text := range []string{`["a,b"]`, `[""]`, `[1]`, `{}`, `7`} {
		var in input.Input
		if err := json.Unmarshal([]byte(`{"model":`+text+`}`), &in); err == nil {
			t.Errorf("%s is %q", text, in.Model)
		}
	}
}
