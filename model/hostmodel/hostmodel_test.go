package hostmodel_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/hostmodel"
	"github.com/agentworker/worker/model/modeltest"
)

// answering is a host that answers so, and keeps what it was asked.
type answering struct {
	res   *mcp.CreateMessageWithToolsResult
	err   error
	asked *mcp.CreateMessageWithToolsParams
	path  []string
}

func (a *answering) ask(_ context.Context, path []string, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	a.path, a.asked = path, p
	return a.res, a.err
}

func collect(ctx context.Context, a *answering, req *model.Request) (parts []model.Part, err error) {
	for part, e := range hostmodel.New(a.ask).Stream(ctx, req) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func TestRequest(t *testing.T) {
	warm := 0.5
	a := &answering{res: &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}}
	_, err := collect(t.Context(), a, &model.Request{
		System: "be brief",
		Messages: []model.Message{
			{Role: model.User, Text: "look"},
			{Role: model.Assistant, Text: "I look", ToolCalls: []model.ToolCall{
				{ID: "1", Name: "read_file", Arguments: `{"path":"a"}`}, {ID: "2", Name: "read_file", Arguments: `{"pa`},
			}},
			{Role: model.User, Text: "conclude", ToolResults: []model.ToolResult{{ToolCallID: "1", Text: "A"}, {ToolCallID: "2", Text: "no JSON", IsError: true}}},
		},
		Tools:       []model.ToolSpec{{Name: "read_file", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		NoToolCalls: true,
		Path:        []string{"ses_root", "ses_child"},
		Params:      model.Params{Temperature: &warm},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(a.asked)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"maxTokens":8192,"messages":[` +
		`{"content":{"type":"text","text":"look"},"role":"user"},` +
		`{"content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"1","name":"read_file","input":{"path":"a"}},` +
		`{"type":"tool_use","id":"2","name":"read_file","input":{"invalid":"{\"pa"}}],"role":"assistant"},` +
		`{"content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"A"}]},` +
		`{"type":"tool_result","toolUseId":"2","content":[{"type":"text","text":"no JSON"}],"isError":true}],"role":"user"},` +
		`{"content":{"type":"text","text":"conclude"},"role":"user"}],` +
		`"systemPrompt":"be brief","temperature":0.5,` +
		`"tools":[{"description":"Reads.","inputSchema":{"type":"object"},"name":"read_file"}],"toolChoice":{"mode":"none"}}`
	if string(got) != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	if strings.Join(a.path, " ") != "ses_root ses_child" {
		t.Errorf("path %v", a.path)
	}
}

func TestAnswer(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	use := &mcp.ToolUseContent{ID: "7", Name: "grep", Input: map[string]any{"pattern": "x"}}
	tests := []struct {
		name string
		res  *mcp.CreateMessageWithToolsResult
		err  error
		want []model.Part
		says string
	}{
		{"a text", &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{text("yes")}, StopReason: "endTurn"}, nil,
			[]model.Part{model.TextDelta{Text: "yes"}, model.Stop{Reason: model.StopEnd}}, ""},
		{"a call", &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{text("so"), use, &mcp.ToolUseContent{ID: "8", Name: "list_dir"}}, StopReason: "toolUse"}, nil,
			[]model.Part{model.TextDelta{Text: "so"}, model.ToolCall{ID: "7", Name: "grep", Arguments: `{"pattern":"x"}`},
				model.ToolCall{ID: "8", Name: "list_dir", Arguments: `{}`}, model.Stop{Reason: model.StopToolCalls}}, ""},
		{"cut off", &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{text("ye")}, StopReason: "maxTokens"}, nil,
			[]model.Part{model.TextDelta{Text: "ye"}, model.Stop{Reason: model.StopMaxTokens}}, ""},
		{"no UTF-8", &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{text("\xff")}}, nil,
			[]model.Part{model.TextDelta{Text: "\uFFFD"}, model.Stop{Reason: model.StopEnd}}, ""},
		{"an image", &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{&mcp.ImageContent{}}}, nil, nil, "neither a text nor a tool call"},
		{"the user's role", &mcp.CreateMessageWithToolsResult{Role: "user", Content: []mcp.Content{text("x")}}, nil, nil, `role "user"`},
		{"refused", nil, errors.New("the user\nsaid no" + strings.Repeat("!", 1000)), nil, "host: the user said no!"},
	}
	for _, tt := range tests {
		parts, err := collect(t.Context(), &answering{res: tt.res, err: tt.err}, &model.Request{})
		if (err == nil) != (tt.says == "") || err != nil && (!strings.Contains(err.Error(), tt.says) || len(err.Error()) > 600) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
			continue
		}
		if len(parts) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, parts, tt.want)
			continue
		}
		for i := range parts {
			if parts[i] != tt.want[i] {
				t.Errorf("%s: part %d is %#v, want %#v", tt.name, i, parts[i], tt.want[i])
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := collect(ctx, &answering{err: errors.New("gone")}, &model.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that has ended: %v", err)
	}
}

func TestImages(t *testing.T) {
	a := &answering{res: &mcp.CreateMessageWithToolsResult{Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}}
	if _, err := collect(t.Context(), a, modeltest.Imaged()); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(a.asked.Messages)
	if err != nil {
		t.Fatal(err)
	}
	want := `[
		{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"PNG"},{"type":"text","text":"look"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"read_file","input":{}},{"type":"tool_use","id":"call_2","name":"read_file","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","toolUseId":"call_1","content":[{"type":"text","text":"b.png"},{"type":"image","mimeType":"image/png","data":"PNG"}]},
			{"type":"tool_result","toolUseId":"call_2","content":[{"type":"text","text":"two"}]}
		]}
	]`
	if !modeltest.SameJSON(t, got, []byte(strings.ReplaceAll(want, "PNG", base64.StdEncoding.EncodeToString(modeltest.PNG)))) {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}
