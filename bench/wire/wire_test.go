// Package wire holds the requests that worker builds by hand against the types of OpenAI's SDK. The
// test is in this module so that the program does not get the weight of those types.
package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/responsesmodel"
)

// recorder keeps the body of a request, and refuses it.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(req.Body)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: req}, nil
}

// request has everything that a request of ours may have.
func request() *model.Request {
	temperature := 0.5
	return &model.Request{
		System: "Be brief.",
		Messages: []model.Message{
			{Role: model.User, Text: "Look.", Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}}},
			{Role: model.Assistant, Text: "I look.", ToolCalls: []model.ToolCall{{ID: "call_1", Name: "read_file", Arguments: `{"path":"a"}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "call_1", Text: "what is in it"}}, Text: "Go on."},
		},
		Tools:  []model.ToolSpec{{Name: "read_file", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
		Params: model.Params{MaxOutputTokens: 100, Temperature: &temperature, Effort: "low"},
		Path:   []string{"ses_root"},
	}
}

// TestRequests: the SDK reads what we send, and writes the same. It loses a field that it does not
// know.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		name, model string
		open        func(name string, to *http.Client) model.Model
		sdk         func() any
	}{
		{"chat", "gpt-4.1", func(name string, to *http.Client) model.Model {
			return openaimodel.New(name, &openaimodel.Options{APIKey: "k", BaseURL: "https://api.openai.com/v1", HTTPClient: to, MaxRetries: new(int)})
		}, func() any { return new(openai.ChatCompletionNewParams) }},
		{"responses", "gpt-5.5", func(name string, to *http.Client) model.Model {
			return responsesmodel.New(name, &responsesmodel.Options{APIKey: "k", BaseURL: "https://api.openai.com/v1", HTTPClient: to, MaxRetries: new(int)})
		}, func() any { return new(responses.ResponseNewParams) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := new(recorder)
			for range test.open(test.model, &http.Client{Transport: rec}).Stream(t.Context(), request()) {
				continue
			}
			sdk := test.sdk()
			if err := json.Unmarshal(rec.body, sdk); err != nil {
				t.Fatalf("the SDK can't read %s: %v", rec.body, err)
			}
			again, err := json.Marshal(sdk)
			if err != nil {
				t.Fatal(err)
			}
			wrong := test.sdk()
			if err := json.Unmarshal([]byte(`{"modell":"m"}`), wrong); err != nil {
				t.Fatal(err)
			}
			if lost, err := json.Marshal(wrong); err != nil || bytes.Contains(lost, []byte("modell")) {
				t.Fatalf("%s, %v: the SDK keeps what it does not know, and this test finds nothing", lost, err)
			}
			got, want := decode(t, rec.body), decode(t, again)
			delete(got, "stream") // the SDK adds it by the method that is called
			delete(want, "stream")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("we send\n%s\nthe SDK writes\n%s", rec.body, again)
			}
		})
	}
}

func decode(t *testing.T, data []byte) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return object
}
