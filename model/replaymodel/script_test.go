package replaymodel_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestParse(t *testing.T) {
	want := replaymodel.Script{
		{
			Match: replaymodel.Match{User: "hello", System: "test", Result: "ok", NoToolCalls: true},
			Text:  replaymodel.Chunks{"a", "b"}, Reasoning: replaymodel.Chunks{"hm"}, DelayMs: 5, Repeat: true,
			ToolCalls: []replaymodel.ToolCall{
				{ID: "x", Name: "grep", Arguments: `{"a":1,"b":[2]}`}, {Name: "grep", Arguments: `{"bro`}, {Name: "grep"},
			},
			Usage: &model.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4},
			Stop:  model.StopMaxTokens,
			Error: &replaymodel.Failure{Status: 429, RetryAfterMs: 10, Times: 1, Message: "slow"},
		},
		{Hang: true, Signature: "s", Redacted: "r"},
		{Cut: true},
	}
	turns := []string{
		`{"match": {"user": "hello", "system": "test", "result": "ok", "noToolCalls": true},
		"text": ["a", "b"], "reasoning": "hm", "delayMs": 5, "repeat": true,
		"toolCalls": [{"id": "x", "name": "grep", "arguments": {"a": 1, "b": [2]}}, {"name": "grep", "arguments": "{\"bro"}, {"name": "grep"}],
		"usage": {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4}, "stop": "max_tokens",
		"error": {"status": 429, "retryAfterMs": 10, "times": 1, "message": "slow"}}`,
		`{"hang": true, "signature": "s", "redacted": "r"}`,
		`{"cut": true}`,
	}
	for name, text := range map[string]string{
		"array":           "\n[" + strings.Join(turns, ",\n") + "]\n",
		"lines":           strings.Join(turns, "\n"),
		"lines with gaps": "\r\n" + strings.Join(turns, "\r\n\r\n") + "\r\n",
	} {
		got, err := replaymodel.Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, "the script has no turns"},
		{`[]`, "the script has no turns"},
		{"{}\n{\"txt\": 1}", `line 2: turn 2: json: unknown field "txt"`},
		{"[\n{},\n\n  {\"text\": {}}]", "line 4: turn 2: a text is a string or a list of strings, not {}"},
		{"{}\n\n{", "line 3: turn 2: unexpected EOF"},
		{"{} x", "line 1: turn 2: invalid character 'x'"},
		{"[{}\n", "does not end with ]"},
		{"[{}]\n{}", "line 2: text after the list of turns"},
		{`{"stop": "done"}`, `unknown stop "done" (use end, tool_calls, max_tokens or refusal)`},
		{`{"toolCalls": [{"arguments": {}}]}`, "tool call 1 has no name"},
		{`{"delayMs": -1}`, "delayMs is -1, less than 0"},
		{`{"hang": true, "cut": true}`, "only one of error, hang and cut"},
		{`{"cut": true, "error": {"status": 500}}`, "only one of error, hang and cut"},
		{`{"error": {}}`, "an error needs a kind or a status"},
		{`{"error": {"kind": "timeout"}}`, `unknown error kind "timeout" (use auth, invalid, rate_limited, unavailable or protocol)`},
		{`{"error": {"status": 200}}`, "error status 200 is not within 400 and 599"},
		{`{"error": {"status": 429, "retryAfterMs": -1}}`, "retryAfterMs is -1"},
		{`{"error": {"status": 429, "times": -1}}`, "times is -1"},
		{`{"repeat": true} {"match": {"user": "a"}} {}`, "turn 3: cannot be reached: an earlier turn with the same match repeats"},
	} {
		got, err := replaymodel.Parse([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %+v, %v, want the error %q", test.text, got, err, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"text": "a"}, {"toolCalls": [{"name": "b", "arguments": {}}]}]`))
	f.Add([]byte("{\"text\": [\"a\"]}\n{\"error\": {\"status\": 500}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		script, err := replaymodel.Parse(data)
		if err != nil {
			return
		}
		m := replaymodel.New("replay/fuzz", script)
		req := &model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
		turn, err := script.Turn(req)
		if err != nil || turn.Hang || turn.DelayMs > 0 {
			return
		}
		_, err = modeltest.Collect(m.Stream(t.Context(), req))
		var e *model.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v, want no error or a *model.Error", data, err)
		}
	})
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(path, []byte("{\"text\": \"hello\"}\n{\"text\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := replaymodel.Load(path)
	if err == nil || !strings.HasPrefix(err.Error(), "replay script "+path+": line 2: turn 2: ") {
		t.Errorf("got %v, expected the file, the line and the turn", err)
	}
	if err := os.WriteFile(path, []byte(`{"text": "hello"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := replaymodel.Load(path)
	if err != nil || m.Name() != "replay/"+path {
		t.Errorf("got %v, %v, want a model named replay/%s", m, err, path)
	}
	if _, err := replaymodel.Load(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}
