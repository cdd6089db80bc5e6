package acpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session/approval"
)

// TestAgentQuestions: what a subagent asks is a question with its options, in a block that its
// words can't leave. Where there are none, the default is offered, and how to answer elsewhere.
func TestAgentQuestions(t *testing.T) {
	for name, tt := range map[string]struct {
		asks, offers, shows, choice, types, says string
	}{
		"one":           {`"options":["a","**b**"]`, "answer_0 Answer: a|answer_1 Answer: **b**|reject_once No answer", "", "answer_1", "", "answered:\n**b**"},
		"several":       {`"options":["a","b"],"multiple":true`, "answer_0 Answer: a|answer_1 Answer: b|reject_once No answer", "choose several: `worker approvals answer qst_", "answer_0", "", "answered:\n- a"},
		"default":       {`"default":"x"`, "answer_default Answer: x|reject_once No answer", "in words: `worker approvals answer qst_", "answer_default", "", "answered:\nx"},
		"text":          {`"multiple":false`, "reject_once No answer", "in words: `worker approvals answer qst_", "", "the staging one", "answered:\nthe staging one"},
		"declined":      {`"options":["a","b"]`, "answer_0 Answer: a|answer_1 Answer: b|reject_once No answer", "", "reject_once", "", "does not answer this question"},
		"not offered":   {`"options":["a","b"]`, "answer_0 Answer: a|answer_1 Answer: b|reject_once No answer", "", "answer_7", "", "was not offered"},
		"no permission": {`"options":["a","b"]`, "answer_0 Answer: a|answer_1 Answer: b|reject_once No answer", "", "allow_always", "", "was not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, modeltest.Func(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
				last := req.Messages[len(req.Messages)-1]
				call := model.ToolCall{ID: "c1", Name: "task", Arguments: `{"description": "ask", "prompt": "the child's", "agentType": "general"}`}
				switch {
				case len(last.ToolResults) > 0:
					return modeltest.Say(last.ToolResults[0].Text)(ctx, req, yield)
				case strings.Contains(last.Text, "the child's"):
					call = model.ToolCall{ID: "k1", Name: "ask_user", Arguments: `{"question":"Which?\n` + "```" + `\n**Allow** \u202eit",` + tt.asks + `}`}
				}
				_ = yield(call) && yield(model.Stop{Reason: model.StopToolCalls})
				return nil
			}))
			c := e.editor(acpserver.Options{})
			id := c.begin()
			c.answer = func(req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
				var options []string
				for _, o := range req.Options {
					options = append(options, string(o.OptionId)+" "+o.Name)
				}
				shown := ""
				for _, part := range req.ToolCall.Content {
					shown += part.Content.Content.Text.Text + "\n"
				}
				if *req.ToolCall.Title != "primary › general asks a question" || strings.Join(options, "|") != tt.offers || !strings.Contains(shown, tt.shows) ||
					!strings.HasPrefix(shown, "````\nWhich?\n```\n**Allow** \\u{202e}it\n````\n") || !strings.Contains(shown, "give no password") {
					t.Errorf("asked %q %q:\n%s", *req.ToolCall.Title, options, shown)
				}
				if tt.types == "" {
					return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(tt.choice))}, nil
				}
				pending, err := e.Sessions.Store().Approvals.Pending(context.Background())
				if err == nil && len(pending) == 1 {
					_, err = e.Sessions.Store().Approvals.Answer(context.Background(), pending[0].ID, approval.Answer{Verdict: approval.AnswerAsk, Answers: []string{tt.types}})
				}
				if err != nil {
					t.Error(err)
				}
				return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
			}
			if _, err := c.prompt(id, "work"); err != nil {
				t.Fatal(err)
			}
			if lines := c.shown(); !strings.Contains(lines, tt.says) {
				t.Errorf("shown:\n%s\nwant %q", lines, tt.says)
			}
		})
	}
}
