package hidden_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/secrets/secretstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
)

var keys = []string{"gh" + "p_" + secretstest.Repeat("a1B2c3D4", 36), "gh" + "p_" + secretstest.Repeat("z9Y8x7W6", 36)}

func ask(texts ...string) *model.Request {
	req := &model.Request{}
	for _, text := range texts {
		req.Messages = append(req.Messages, model.Message{Role: model.User, Text: text})
	}
	return req
}

// TestNames: a credential has one name in a tree of sessions, and each session notes what it has sent.
func TestNames(t *testing.T) {
	var noted []hidden.Placeholder
	root := hidden.New(nil, func(all []hidden.Placeholder) { noted = append(noted, all...) })
	child := hidden.New(root, nil)
	made := "[secret:GITHUB:1]"
	req := ask(keys[0]+" "+made, keys[1], keys[0])
	got := child.Request(req)
	want := ask("[secret:GITHUB:2] "+made, "[secret:GITHUB:3]", "[secret:GITHUB:2]")
	if !reflect.DeepEqual(got.Messages, want.Messages) || req.Messages[1].Text != keys[1] {
		t.Errorf("got %+v of %+v", got, req)
	}
	root.Request(ask(keys[1]))
	root.Request(ask(keys[1]))
	if !reflect.DeepEqual(noted, []hidden.Placeholder{{Name: "[secret:GITHUB:3]", Credential: keys[1]}}) {
		t.Errorf("noted: %+v", noted)
	}
	if got := root.PutBack(made + " [secret:GITHUB:2]"); got != made+" "+keys[0] {
		t.Errorf("put back: %s", got)
	}
}

// TestRestore: names of another process stay. One that both have means nothing.
func TestRestore(t *testing.T) {
	v := hidden.New(nil, nil)
	v.Restore([]hidden.Placeholder{{Name: "[secret:GITHUB:5]", Credential: keys[0]}})
	if got := v.Request(ask(keys[0])).Messages[0].Text; got != "[secret:GITHUB:5]" {
		t.Errorf("got %s", got)
	}
	v.Restore([]hidden.Placeholder{{Name: "[secret:GITHUB:5]", Credential: keys[1]}})
	if got := v.PutBack("[secret:GITHUB:5]"); got != "[secret:GITHUB:5]" {
		t.Errorf("put back: %s", got)
	}
}

// TestParts: no part of a request has the credential. What is signed is left out, and JSON stays JSON.
func TestParts(t *testing.T) {
	v := hidden.New(nil, nil)
	key := secretstest.Keys["private key"]
	quoted, _ := json.Marshal(key)
	req := &model.Request{
		System: key, Tools: []model.ToolSpec{{Description: key, InputSchema: json.RawMessage(`{"const":` + string(quoted) + `}`)}},
		Messages: []model.Message{
			{Role: model.Assistant, Reasoning: []model.Reasoning{{Text: key, Signature: "s"}, {Text: "kept"}}, Text: key, ToolCalls: []model.ToolCall{{Arguments: `{"a":` + string(quoted) + `}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{{Text: key}}},
		},
	}
	got := v.Request(req)
	all, err := json.Marshal(got)
	if _, shown := secretstest.Find(string(all)); err != nil || shown != "" {
		t.Errorf("%v: %s", err, all)
	}
	m := got.Messages[0]
	if len(m.Reasoning) != 1 || !json.Valid(got.Tools[0].InputSchema) || !json.Valid([]byte(m.ToolCalls[0].Arguments)) {
		t.Errorf("got %+v", got)
	}
	var args struct{ A string }
	if err := json.Unmarshal([]byte(v.PutBack(m.ToolCalls[0].Arguments)), &args); err != nil || args.A != key {
		t.Errorf("put back: %v, %q", err, args.A)
	}
	var none *hidden.View
	if none.Request(req) != req || none.PutBack("[secret:GITHUB:1]") != "[secret:GITHUB:1]" {
		t.Error("a nil view changes something")
	}
}

// TestKnownWithin: a credential that the model has a placeholder of is hidden in other words, too: a
// file tool writes it wherever the model says.
func TestKnownWithin(t *testing.T) {
	v := hidden.New(nil, nil)
	v.Request(ask(keys[0]))
	for _, around := range [][2]string{{"x", ""}, {"_", "_"}, {"9", "9"}, {"%20", ""}, {"x", keys[1]}} {
		got := v.Request(ask(around[0] + keys[0] + around[1])).Messages[0].Text
		if strings.Contains(got, keys[0]) || strings.Contains(got, keys[1]) {
			t.Errorf("%q: %s", around, got)
		}
		args, err := json.Marshal(map[string]string{"content": around[0] + keys[0]})
		if err != nil {
			t.Fatal(err)
		}
		sent := v.Request(&model.Request{Messages: []model.Message{{Role: model.Assistant, ToolCalls: []model.ToolCall{{Arguments: string(args)}}}}})
		if made := sent.Messages[0].ToolCalls[0].Arguments; strings.Contains(made, keys[0]) || v.PutBack(made) != string(args) {
			t.Errorf("%q: %s", around, made)
		}
	}
}
