package offlinemodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/offlinemodel"
)

// listen returns all parts of an answer, and the error that ended it.
func listen(ctx context.Context, req *model.Request) (parts []model.Part, err error) {
	for part, e := range offlinemodel.New().Stream(ctx, req) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// conversations returns the requests of a whole conversation, step by step.
func conversations(t testing.TB) []*model.Request {
	t.Helper()
	var out []*model.Request
	for _, c := range []struct{ repo, prompt string }{
		{"go.txtar", "Where is the bulk rebate decided?"}, {"python.txtar", "find usages of parse_yaml"}, {"js.txtar", "read src/server.js"},
	} {
		ws := open(t, c.repo)
		messages := []model.Message{{Role: model.User, Text: c.prompt}}
		for {
			req := &model.Request{System: "system", Messages: messages[:len(messages):len(messages)], Tools: ws.specs()}
			out = append(out, req)
			answer, _ := collect(t, req)
			if len(answer.ToolCalls) == 0 {
				break
			}
			results := model.Message{Role: model.User}
			for _, call := range answer.ToolCalls {
				results.ToolResults = append(results.ToolResults, ws.run(call))
			}
			messages = append(messages, answer, results)
		}
	}
	return out
}

func TestSameRequestSameParts(t *testing.T) {
	for i, req := range conversations(t) {
		first, err := listen(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if again, err := listen(t.Context(), req); err != nil || !reflect.DeepEqual(first, again) {
				t.Errorf("request %d: the parts differ from those of the first time (%v):\n%v\n%v", i, err, first, again)
			}
		}
	}
}

func TestStreamsInPieces(t *testing.T) {
	for i, req := range conversations(t) {
		before := fmt.Sprint(*req)
		parts, err := listen(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(*req) != before {
			t.Errorf("request %d was changed", i)
		}
		if _, ok := parts[len(parts)-1].(model.Stop); !ok {
			t.Errorf("request %d: the last part is %T, want a Stop", i, parts[len(parts)-1])
		}
		var usage model.Usage
		for _, p := range parts {
			switch p := p.(type) {
			case model.TextDelta:
				if p.Text == "" || !utf8.ValidString(p.Text) || len(strings.Fields(p.Text)) > 6 {
					t.Errorf("request %d: piece %q, want a few words", i, p.Text)
				}
			case model.ReasoningDelta:
				if p.Text == "" || strings.Contains(p.Text, "\n") {
					t.Errorf("request %d: reasoning %q, want one line", i, p.Text)
				}
			case model.ToolCall:
				if !json.Valid([]byte(p.Arguments)) {
					t.Errorf("request %d: arguments %q are no JSON", i, p.Arguments)
				}
			case model.Usage:
				usage = p
			}
		}
		if usage.InputTokens < 10 || usage.OutputTokens < 5 {
			t.Errorf("request %d: usage %+v, want an estimate", i, usage)
		}
	}
}

func TestContextEnds(t *testing.T) {
	req := conversations(t)[0]
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if parts, err := listen(ctx, req); !errors.Is(err, why) || len(parts) > 0 {
		t.Errorf("ended before: %d parts and %v, want none and %v", len(parts), err, why)
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	count := 0
	for _, err := range offlinemodel.New().Stream(ctx, req) {
		if count++; count == 2 && !errors.Is(err, why) {
			t.Errorf("ended after a part: %v, want %v", err, why)
		}
		cancel(why)
	}
	if count != 2 {
		t.Errorf("ended after a part: %d values, want a part and the error", count)
	}

	for range offlinemodel.New().Stream(t.Context(), req) {
		break // leaving the loop is allowed at any part
	}
}

func TestNilRequest(t *testing.T) {
	_, err := listen(t.Context(), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrInvalid || e.Model != offlinemodel.New().Name() {
		t.Errorf("Stream of nil: %v, want an ErrInvalid of %s", err, offlinemodel.New().Name())
	}
}

func TestMaxOutputTokens(t *testing.T) {
	req := &model.Request{Messages: []model.Message{{Role: model.User, Text: "Where is the bulk rebate?"}}, Params: model.Params{MaxOutputTokens: 10}}
	answer, stop := collect(t, req)
	if len(answer.Text) > 40 || stop != model.StopMaxTokens {
		t.Errorf("10 tokens: %d bytes and stop %q, want at most 40 and %q", len(answer.Text), stop, model.StopMaxTokens)
	}
}

func TestNoQuestion(t *testing.T) {
	for name, req := range map[string]*model.Request{
		"no message":                 {},
		"blank":                      {Messages: []model.Message{{Role: model.User, Text: " \n"}}},
		"a task tool and no message": {Tools: primary("explore").specs()},
	} {
		answer, stop := collect(t, req)
		if len(answer.ToolCalls) > 0 || stop != model.StopEnd || !strings.Contains(answer.Text, "no question") {
			t.Errorf("%s: %d calls, stop %q, text %q", name, len(answer.ToolCalls), stop, answer.Text)
		}
	}
}

// FuzzHistory holds that whatever a conversation looks like, the answer is a
// complete one: no panic, valid calls or text, one Stop at the end.
func FuzzHistory(f *testing.F) {
	f.Add("Where is `a.b` in src/x.go:3?", "grep", `{"pattern":"a"}`, "src/x.go:3: func a() {\n(no match)", "read_file", "     1→x\n", uint8(0))
	f.Add("find usages of Foo::bar, \"a b\" and c_d", "glob", `{"pattern":"*"}`, "a.py\nb/c.md", "list_dir", "a/\nb  3 B", uint8(1))
	f.Add("- one?\n- two?", "task", `{"prompt":"one?"}`, "<task_result agent=\"x\">\n\n</task_result>", "task", "<task_error agent=\"x\">e</task_error>", uint8(2))
	f.Add("你好 \xff ()[{*\\?", "read_file", `{"path":"x.go","offset":-3}`, "3→\n9999999999→\n(lines 1 to 2 of 3)", "grep", "x.go:99999999999: y\nx.go:0: z", uint8(3))
	f.Fuzz(func(t *testing.T, prompt, tool1, args, result1, tool2, result2 string, flags uint8) {
		tools := (&workspace{names: []string{"grep", "glob", "list_dir", "read_file"}}).specs()
		if flags&2 != 0 {
			tools = append(tools, primary("explore").specs()...)
		}
		if flags&4 != 0 {
			tools = []model.ToolSpec{{Name: tool1, InputSchema: json.RawMessage(args)}}
		}
		req := &model.Request{
			Tools:       tools,
			NoToolCalls: flags&1 != 0,
			Messages: []model.Message{
				{Role: model.User, Text: prompt},
				{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: tool1, Arguments: args}, {ID: "2", Name: tool2, Arguments: args}}},
				{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "1", Text: result1, IsError: flags&8 != 0}, {ToolCallID: "3", Text: result2}}},
			},
		}
		if flags&16 != 0 {
			req.Messages = req.Messages[:1]
		}
		if flags&32 != 0 {
			req.Messages = append(req.Messages, model.Message{Role: model.User, Text: result2})
		}
		parts, err := listen(t.Context(), req)
		if err != nil || len(parts) == 0 {
			t.Fatalf("%d parts, error %v", len(parts), err)
		}
		stop, ok := parts[len(parts)-1].(model.Stop)
		if !ok {
			t.Fatalf("the last part is %T, want a Stop", parts[len(parts)-1])
		}
		text, calls := "", 0
		for _, p := range parts {
			switch p := p.(type) {
			case model.TextDelta:
				if p.Text == "" || !utf8.ValidString(p.Text) {
					t.Errorf("piece %q", p.Text)
				}
				text += p.Text
			case model.ToolCall:
				calls++
				if req.NoToolCalls || !json.Valid([]byte(p.Arguments)) {
					t.Errorf("call %s %s, NoToolCalls %v", p.Name, p.Arguments, req.NoToolCalls)
				}
			}
		}
		if (calls > 0) != (stop.Reason == model.StopToolCalls) || calls == 0 && !strings.HasSuffix(text, offlinemodel.Note) {
			t.Errorf("%d calls, stop %q, text %q", calls, stop.Reason, text)
		}
	})
}

// BenchmarkStream measures a step late in a search whose results are long.
func BenchmarkStream(b *testing.B) {
	var lines strings.Builder
	for i := range 250 {
		fmt.Fprintf(&lines, "pkg/dir%d/file%d.go:%d: func (s *Server) chooseRebate%d(ctx context.Context, bulk bool) error {\n", i%7, i%40, i*3+1, i)
	}
	calls := model.Message{Role: model.Assistant}
	results := model.Message{Role: model.User}
	for i := range 6 {
		id := fmt.Sprint(i)
		calls.ToolCalls = append(calls.ToolCalls, model.ToolCall{ID: id, Name: "grep", Arguments: `{"pattern":"` + id + `"}`})
		results.ToolResults = append(results.ToolResults, model.ToolResult{ToolCallID: id, Text: strings.ReplaceAll(lines.String(), "dir", "dir"+id)})
	}
	req := &model.Request{
		Messages:    []model.Message{{Role: model.User, Text: "Where is the bulk rebate chosen?"}, calls, results},
		NoToolCalls: true,
	}
	for b.Loop() {
		if _, err := listen(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
