package offlinemodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/offlinemodel"
)

var files = map[string]string{
	"README.md":        "# Shop\nHow the bulk rebate is decided: see pricing.\n",
	"pricing/price.go": "package pricing\n\n// Rebate decides the bulk rebate of an order.\nfunc Rebate(pieces int) int {\n\treturn pieces / bulk\n}\n",
	"pricing/bulk.go":  "package pricing\n\nconst bulk = 10\n",
}

// grep is the tool that the model calls, over the files above.
func grep(call model.ToolCall) model.ToolResult {
	var args struct{ Pattern string }
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		return model.ToolResult{ToolCallID: call.ID, Text: err.Error(), IsError: true}
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i, l := range strings.Split(files[name], "\n") {
			if regexp.MustCompile(args.Pattern).MatchString(l) {
				fmt.Fprintf(&out, "%s:%d: %s\n", name, i+1, l)
			}
		}
	}
	return model.ToolResult{ToolCallID: call.ID, Text: out.String() + "(3 files)"}
}

var (
	grepTool = model.ToolSpec{Name: "grep", InputSchema: json.RawMessage(`{"type":"object"}`)}
	taskTool = model.ToolSpec{Name: "task", InputSchema: json.RawMessage(`{"properties":{"agentType":{"enum":["docs","explore"]}}}`)}
)

// stream returns all parts of an answer, and the error that ended it.
func stream(ctx context.Context, req *model.Request) (parts []model.Part, err error) {
	for part, e := range offlinemodel.New().Stream(ctx, req) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// answer returns the calls and the text of the answer to req, and checks its form.
func answer(t *testing.T, req *model.Request) (calls []model.ToolCall, text string) {
	t.Helper()
	parts, err := stream(t.Context(), req)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	for _, p := range parts {
		switch p := p.(type) {
		case model.TextDelta:
			if text += p.Text; p.Text == "" || !utf8.ValidString(p.Text) {
				t.Errorf("piece %q", p.Text)
			}
		case model.ToolCall:
			if calls = append(calls, p); req.NoToolCalls || !json.Valid([]byte(p.Arguments)) {
				t.Errorf("call %s %s, NoToolCalls %v", p.Name, p.Arguments, req.NoToolCalls)
			}
		}
	}
	stop, ok := parts[len(parts)-1].(model.Stop)
	if !ok || (len(calls) > 0) != (stop.Reason == model.StopToolCalls) {
		t.Errorf("%d calls, and the last part is %#v", len(calls), parts[len(parts)-1])
	}
	if len(calls) == 0 && stop.Reason == model.StopEnd && !strings.HasSuffix(text, offlinemodel.Note) {
		t.Errorf("the answer doesn't say what model it is of: %q", text)
	}
	if again, err := stream(t.Context(), req); err != nil || !reflect.DeepEqual(parts, again) {
		t.Errorf("the same request gets other parts: %v", err)
	}
	return calls, text
}

func TestSearch(t *testing.T) {
	for prompt, first := range map[string]string{
		"Where is the bulk rebate decided?": "pricing/price.go:3",
		"Which constant is bulk?":           "pricing/bulk.go:3",
		"How do I read the README?":         "",
		"Where is it?":                      "",
		"小售":                                "",
	} {
		req := &model.Request{Messages: []model.Message{{Role: model.User, Text: prompt}}, Tools: []model.ToolSpec{grepTool, taskTool}[:1]}
		calls, text := answer(t, req)
		if len(calls) > 0 {
			results := model.Message{Role: model.User}
			for _, c := range calls {
				results.ToolResults = append(results.ToolResults, grep(c))
			}
			req.Messages = append(req.Messages, model.Message{Role: model.Assistant, ToolCalls: calls}, results)
			calls, text = answer(t, req)
		}
		place := regexp.MustCompile("(?m)^- `(.+?)`").FindStringSubmatch(text)
		if len(calls) > 0 || (place == nil) != (first == "") || first != "" && place[1] != first {
			t.Errorf("%q: %d calls, want the place %q first in\n%s", prompt, len(calls), first, text)
		}
	}
}

func TestDelegate(t *testing.T) {
	for prompt, agent := range map[string]string{"Where is the rebate?": "explore", "@docs where is the rebate?": "docs", "Ask the docs agent": "docs"} {
		req := &model.Request{Messages: []model.Message{{Role: model.User, Text: prompt}}, Tools: []model.ToolSpec{taskTool}}
		calls, _ := answer(t, req)
		if len(calls) != 1 || !strings.Contains(calls[0].Arguments, `"agentType":"`+agent+`"`) {
			t.Fatalf("%q: calls %v, want %s", prompt, calls, agent)
		}
		for result, want := range map[string]string{
			"<task_result agent=\"a\">\nIn price.go.\n\n" + offlinemodel.Note + "\n</task_result>": "In price.go.\n\n" + offlinemodel.Note,
			"<task_error agent=\"a\">\ntoo long\n</task_error>":                                    "The task failed: too long\n\n" + offlinemodel.Note,
		} {
			next := *req
			next.Messages = append(slices.Clip(req.Messages), model.Message{Role: model.Assistant, ToolCalls: calls},
				model.Message{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: calls[0].ID, Text: result}}})
			if _, text := answer(t, &next); text != want {
				t.Errorf("after %q: %q, want %q", result, text, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	schema := &model.Request{System: "Your last message must be one JSON value and nothing else, that satisfies this JSON Schema: {}"}
	for _, req := range []*model.Request{nil, schema} {
		var e *model.Error
		if parts, err := stream(t.Context(), req); !errors.As(err, &e) || e.Kind != model.ErrInvalid || len(parts) > 0 {
			t.Errorf("%d parts, error %v", len(parts), err)
		}
	}
	if _, text := answer(t, &model.Request{}); !strings.Contains(text, "no question") {
		t.Errorf("no prompt: %q", text)
	}
	prompt := []model.Message{{Role: model.User, Text: "Where is the rebate?"}}
	if _, text := answer(t, &model.Request{Messages: prompt}); !strings.Contains(text, "can't be searched") {
		t.Errorf("no tools: %q", text)
	}
	short := &model.Request{Messages: prompt, Params: model.Params{MaxOutputTokens: 5}}
	if _, text := answer(t, short); len(text) > 20 {
		t.Errorf("5 tokens: %q", text)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if parts, err := stream(ctx, short); !errors.Is(err, why) || len(parts) > 0 {
		t.Errorf("an ended context: %d parts, error %v", len(parts), err)
	}
}

// FuzzHistory holds that any conversation gets a complete answer.
func FuzzHistory(f *testing.F) {
	f.Add("Where is `a.b` in src/x.go:3?", "grep", `{"pattern":"a"}`, "src/x.go:3: func a() {\n(no match)", uint8(0))
	f.Add("- one?\n- two?", "task", `{"prompt":"one?"}`, "<task_result agent=\"x\">\n\n</task_result>", uint8(2))
	f.Add("你好 \xff ()[{*\\?", "grep", `{"path":3}`, "x.go:99999999999: y\n../x.go:1: z\nx.go:0: z", uint8(5))
	f.Fuzz(func(t *testing.T, prompt, tool, args, result string, flags uint8) {
		call := model.ToolCall{ID: "1", Name: tool, Arguments: args}
		req := &model.Request{Tools: []model.ToolSpec{grepTool, taskTool}[:1+flags>>1&1], NoToolCalls: flags&1 != 0, Messages: []model.Message{
			{Role: model.User, Text: prompt},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{call}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "1", Text: result, IsError: flags&4 != 0}}},
			{Role: model.User, Text: result},
		}[:1+flags>>3&3]}
		answer(t, req)
	})
}
