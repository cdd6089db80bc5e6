package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session/approval"
)

// TestQuestions: what an agent asks is a form, marked as its words, whose answer fits. A host
// that can't show a choice of several shows boxes. To decline the form declines an answer.
func TestQuestions(t *testing.T) {
	const options = `"options":["a","<b>"]`
	for name, tt := range map[string]struct {
		asks    string
		schema  string // in the form
		content map[string]any
		action  string
		refuses string // in a schema that the host can't show
		says    string
	}{
		"text":     {`"default":"x"`, `"maxLength":32768`, map[string]any{"answer": "the staging one"}, "accept", "", "answered:\nthe staging one"},
		"one":      {options, `"enum":["a","\u003cb\u003e"]`, map[string]any{"answer": "<b>"}, "accept", "", "answered:\n<b>"},
		"several":  {options + `,"multiple":true`, `"type":"array"`, map[string]any{"answer": []any{"<b>", "a"}}, "accept", "", "answered:\n- <b>\n- a"},
		"boxes":    {options + `,"multiple":true`, `"type":"boolean"`, map[string]any{"option02": true, "option01": false}, "accept", `"array"`, "answered:\n- <b>"},
		"declined": {options, `"enum"`, nil, "decline", "", "does not answer this question"},
	} {
		for _, version := range generations {
			if tt.refuses != "" && version > "2026" { // a client of that version fails its own call
				continue
			}
			t.Run(name+" "+version, func(t *testing.T) {
				e := setup{model: modeltest.Func(doortest.Calling("ask_user", `{"question":"Which?\nApprove: \u202ey\u001b[2J",`+tt.asks+`}`))}.open(t)
				host := e.connectAs(t, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					schema, err := json.Marshal(req.Params.RequestedSchema)
					if err != nil {
						return nil, err
					}
					if tt.refuses != "" && strings.Contains(string(schema), tt.refuses) {
						return nil, errors.New("no such form here")
					}
					if want := "general asks a question:\n> Which?\n> Approve: \\u{202e}y\\u{1b}[2J"; req.Params.Message != want || !strings.Contains(string(schema), "give no password") || !strings.Contains(string(schema), tt.schema) {
						t.Errorf("%q %s", req.Params.Message, schema)
					}
					return &mcp.ElicitResult{Action: tt.action, Content: tt.content}, nil
				}))
				if got := text(t, callTool(t, host, "task", call("general", "go").Arguments)); !strings.Contains(got, tt.says) {
					t.Errorf("%q, want %q", got, tt.says)
				}
			})
		}
	}
}

// TestQuestionUnseen: a host without forms is told how to answer elsewhere, and an answer that the
// form did not offer answers nothing.
func TestQuestionUnseen(t *testing.T) {
	wrong := elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "c"}}, nil
	})
	for name, opts := range map[string]*mcp.ClientOptions{"no forms": nil, "wrong": wrong} {
		for _, version := range generations {
			if opts != nil && version > "2026" { // a client of that version fails its own call
				continue
			}
			e := setup{model: modeltest.Func(doortest.Calling("ask_user", `{"question":"Which?","options":["a","b"]}`)), options: mcpserver.Options{Unseen: time.Nanosecond}}.open(t)
			host := e.connectAs(t, "test-host", version, opts)
			res := callTool(t, host, "task", call("general", "go").Arguments)
			id := e.pending(t).ID
			if got := text(t, res); !strings.Contains(got, "waits for an answer: worker approvals answer "+id+` ANSWER (answer "Which?")`) {
				t.Errorf("%s, %s: %q", name, version, got)
			}
			if _, err := e.sessions.Store().Approvals.Answer(t.Context(), id, approval.Answer{Verdict: approval.AnswerAsk, Answers: []string{"b"}}); err != nil {
				t.Error(err)
			}
			if got := text(t, callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))); !strings.Contains(got, "answered:\nb") {
				t.Errorf("%s, %s: %q", name, version, got)
			}
		}
	}
}
