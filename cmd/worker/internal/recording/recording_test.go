package recording

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
)

// answering is a model that calls a tool with the folder that it was told.
type answering struct{ folder string }

func (answering) Name() string { return "test/answering" }

func (m answering) Stream(context.Context, *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		args, _ := json.Marshal(map[string]string{"path": m.folder + "/a<b>"}) // a map of strings
		_ = yield(model.TextDelta{Text: "in " + m.folder}, nil) &&
			yield(model.ToolCall{ID: "c", Name: "read_file", Arguments: string(args)}, nil) &&
			yield(model.Stop{Reason: model.StopToolCalls}, nil)
	}
}

// TestElsewhere: what was recorded in a folder is played in another one, whose name is
// in the requests and in the answers; a second time it is not there.
func TestElsewhere(t *testing.T) {
	request := func(folder string) *model.Request {
		return &model.Request{System: "You work in " + folder + ".", Messages: []model.Message{
			{Role: model.User, Text: "look, it is 2026-01-02T03:04:05Z in ses_0123456789abcdef"},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "b", Name: "x", Arguments: `{"b": "` + folder + `/<y>", "a": 1}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "b", Text: folder + " took 3.2s"}}},
		}}
	}
	recorder := NewRecorder(NewNormal(map[string]string{"/first": "<workspace>"}))
	m, err := recorder.Models(func(string) (model.Model, error) { return answering{"/first"}, nil })("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := modeltest.Collect(m.Stream(t.Context(), request("/first"))); err != nil {
		t.Fatal(err)
	}
	var saved strings.Builder
	if err := json.NewEncoder(&saved).Encode(recorder.Recording().Masked(strings.Clone)); err != nil {
		t.Fatal(err)
	}
	rec, err := Read([]byte(saved.String()))
	if err != nil || strings.Contains(saved.String(), "/first") {
		t.Fatalf("%v: %s", err, saved.String())
	}
	player := NewPlayer(rec, NewNormal(map[string]string{"/second": "<workspace>"}), strings.Clone)
	if m, err = player.Model(""); err != nil || m.Name() != "test/answering" {
		t.Fatal(m.Name(), err)
	}
	got, err := modeltest.Collect(m.Stream(t.Context(), request("/second")))
	if err != nil || got.Text != "in /second" || !strings.Contains(got.ToolCalls[0].Arguments, "/second/a") || len(player.Differences(true)) > 0 {
		t.Errorf("%+v, %v, %v", got, err, player.Differences(true))
	}
	if _, err := modeltest.Collect(m.Stream(t.Context(), request("/second"))); err == nil || !strings.Contains(err.Error(), "it has 1 call, and all were made") {
		t.Errorf("the second time: %v", err)
	}
	for text, want := range map[string]string{
		`{"version": 2}`:                                               "version 2",
		"{\"version\": 1,\n\"x\": 1}":                                  "line ",
		`{"version": 1, "calls": [null]}`:                              "call 1 has no messages",
		`{"version": 1, "calls": [{"messages": ["a"], "answer": {}}]}`: "names the text a",
		`{"version": 1, "texts": {"a": "b"}}`:                          "is not the one of that hash",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
