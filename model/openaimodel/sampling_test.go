package openaimodel_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
)

// TestSampling holds what goes over the wire of temperature, top_p and effort:
// nothing that OpenAI would refuse, and all of it elsewhere.
func TestSampling(t *testing.T) {
	low, high := 0.0, 0.9
	sampling := model.Params{Temperature: &low, TopP: &high}
	effort := func(e string) model.Params { return model.Params{Temperature: &low, Effort: e} }
	tools := []model.ToolSpec{{Name: "a"}}
	const official, other = "", "http://127.0.0.1:1/v1"
	for _, tt := range []struct {
		model, base string
		params      model.Params
		tools       []model.ToolSpec
		want        string
	}{
		{"gpt-4.1", official, sampling, nil, `{"temperature":0,"top_p":0.9}`},
		{"gpt-5", official, sampling, nil, `{}`},
		{"gpt-5-mini", official, effort("low"), tools, `{"reasoning_effort":"low"}`},
		{"o3", official, effort("HIGH"), tools, `{"reasoning_effort":"high"}`},
		{"o4-mini", official, sampling, nil, `{}`},
		{"gpt-5.2", official, sampling, tools, `{"temperature":0,"top_p":0.9}`},
		{"gpt-5.2", official, effort("none"), tools, `{"temperature":0,"reasoning_effort":"none"}`},
		{"gpt-5.2", official, effort("medium"), tools, `{"reasoning_effort":"medium"}`},
		{"gpt-5.5", official, effort("medium"), nil, `{"reasoning_effort":"medium"}`},
		{"gpt-5.5", official, effort("medium"), tools, `{"temperature":0}`},
		{"gpt-5.2", official, effort("very"), tools, `{"temperature":0}`},
		{"o3", other, model.Params{Temperature: &low, TopP: &high, Effort: "max"}, tools, `{"temperature":0,"top_p":0.9,"reasoning_effort":"max"}`},
	} {
		var sent recorder
		m := openaimodel.New(tt.model, &openaimodel.Options{
			BaseURL: tt.base, HTTPClient: &http.Client{Transport: &sent}, MaxRetries: new(int),
		})
		req := modeltest.Ask("hello")
		req.Params, req.Tools = tt.params, tt.tools
		if _, err := modeltest.Collect(m.Stream(t.Context(), req)); sent.body == nil {
			t.Fatalf("%s: got no request: %v", tt.model, err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(sent.body, &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"model", "messages", "stream", "stream_options", "tools"} {
			delete(got, key)
		}
		body, err := json.Marshal(got)
		if err != nil || !modeltest.SameJSON(t, body, []byte(tt.want)) {
			t.Errorf("%s at %q with %+v: sent %s, %v, want %s", tt.model, tt.base, tt.params, body, err, tt.want)
		}
	}
}
