package anthropicmodel_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

// TestSampling holds what goes over the wire of temperature, top_p and effort:
// nothing that the model would refuse.
func TestSampling(t *testing.T) {
	low, high := 0.0, 0.9
	both := model.Params{Temperature: &low, TopP: &high, Effort: "High"}
	for _, tt := range []struct {
		model  string
		params model.Params
		want   string
	}{
		{"claude-3-5-haiku-20241022", both, `{"temperature":0}`},
		{"claude-sonnet-4-20250514", both, `{"temperature":0}`},
		{"claude-sonnet-4-5-20250929", both, `{"temperature":0}`},
		{"claude-sonnet-4-5", model.Params{TopP: &high}, `{"top_p":0.9}`},
		{"claude-haiku-4-5", both, `{"temperature":0}`},
		{"claude-sonnet-4-6", both, `{"temperature":0,"output_config":{"effort":"high"}}`},
		{"claude-opus-4-5", both, `{"temperature":0,"output_config":{"effort":"high"}}`},
		{"claude-opus-4-1", both, `{"temperature":0}`},
		{"claude-opus-4-7", both, `{"output_config":{"effort":"high"}}`},
		{"claude-sonnet-5", both, `{"output_config":{"effort":"high"}}`},
		{"claude-haiku-5-5", both, `{"output_config":{"effort":"high"}}`},
		{"claude-opus-5-5-20260901", both, `{"output_config":{"effort":"high"}}`},
		{"glm-5", both, `{"temperature":0,"output_config":{"effort":"high"}}`},
		{"claude-test", both, `{"temperature":0,"output_config":{"effort":"high"}}`},
		{"claude-opus-5", model.Params{Effort: "minimal"}, `{"output_config":{"effort":"low"}}`},
		{"claude-opus-5", model.Params{Effort: "max"}, `{"output_config":{"effort":"max"}}`},
		{"claude-opus-5", model.Params{Effort: "very"}, `{}`},
		{"claude-opus-5", model.Params{}, `{}`},
	} {
		server := modeltest.New(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}}, nil)
		m := anthropicmodel.New(tt.model, &anthropicmodel.Options{BaseURL: server.URL})
		req := modeltest.Ask("hello")
		req.Params = tt.params
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatalf("%s: %v", tt.model, err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(server.Received()[0].Body, &got); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"model", "max_tokens", "messages", "stream"} {
			delete(got, other)
		}
		sent, err := json.Marshal(got)
		if err != nil || !modeltest.SameJSON(t, sent, []byte(tt.want)) {
			t.Errorf("%s with %+v: sent %s, %v, want %s", tt.model, tt.params, sent, err, tt.want)
		}
	}
}
