package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
)

// asking is rules that ask about the shell, and what "always" has added.
type asking struct {
	mu     sync.Mutex
	always []string
}

func (a *asking) Rules() (*permission.Ruleset, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := []permission.Rule{
		{Tool: "*", Pattern: "*", Action: permission.Allow},
		{Tool: "shell_exec", Pattern: "*", Action: permission.Ask},
	}
	for _, p := range a.always {
		rules = append(rules, permission.Rule{Tool: "shell_exec", Pattern: p, Action: permission.Allow})
	}
	return permission.NewRuleset(rules...)
}

func (a *asking) Allow(_ string, patterns []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always = append(a.always, patterns...)
	return nil
}

// shell calls shell_exec with each line of the prompt for a command, those of a
// line with tabs between them at once, and answers with what came of them.
type shell struct{}

func (shell) Name() string { return "shell" }

func (shell) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		outcomes, step := "outcome:", 0
		for _, msg := range req.Messages {
			if len(msg.ToolCalls) > 0 {
				step++
			}
			for _, res := range msg.ToolResults {
				outcomes += " " + res.Text
			}
		}
		lines := strings.Split(req.Messages[0].Text, "\n")
		if step == len(lines) {
			_ = yield(model.TextDelta{Text: outcomes}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
			return
		}
		for i, command := range strings.Split(lines[step], "\t") {
			args, err := json.Marshal(map[string]string{"command": command})
			if !yield(model.ToolCall{ID: fmt.Sprintf("%d.%d", step, i), Name: "shell_exec", Arguments: string(args)}, err) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopToolCalls}, nil)
	}
}

func elicit(answer func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: answer}
}

// choices returns the decisions that a form offers.
func choices(t testing.TB, req *mcp.ElicitRequest) []string {
	t.Helper()
	data, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		t.Error(err)
	}
	var schema struct {
		Properties struct{ Decision struct{ Enum []string } }
		Required   []string
	}
	if err := json.Unmarshal(data, &schema); err != nil || !slices.Equal(schema.Required, []string{"decision"}) {
		t.Errorf("schema %s, %v", data, err)
	}
	return schema.Properties.Decision.Enum
}

// pending returns the one approval that waits.
func (e *env) pending(t testing.TB) *approval.Approval {
	t.Helper()
	approvals, err := e.sessions.Store().Approvals.Pending(context.Background())
	if err != nil || len(approvals) != 1 {
		t.Fatalf("%d approvals wait, %v, want one", len(approvals), err)
	}
	return approvals[0]
}

func (e *env) approve(t testing.TB, a *approval.Approval) {
	t.Helper()
	if _, err := e.sessions.Store().Approvals.Answer(context.Background(), a.ID, approval.Answer{Verdict: approval.ApproveOnce}); err != nil {
		t.Error(err)
	}
}
