//go:build unix

package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
)

// TestSecondPerson: the host's user has asked for the work: no form asks about what takes a
// second person.
func TestSecondPerson(t *testing.T) {
	for _, version := range generations {
		t.Run(version, func(t *testing.T) {
			e := setup{model: shell{}, policy: doortest.Under(t, `{"secondPerson": {"shell_exec": {"echo *": "ask"}}}`)}.open(t)
			host := e.connectAs(t, "test-host", version, elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Error("the host's user was asked")
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
			}))
			got := make(chan string, 1)
			go func() { got <- text(t, callTool(t, host, "task", call("general", "echo hello").Arguments)) }()
			var waits []*approval.Approval
			for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
				waits, _ = e.sessions.Store().Approvals.Pending(t.Context()) // what fails is seen below
			}
			if len(waits) != 1 {
				t.Fatalf("%d approvals wait", len(waits))
			}
			if _, err := e.sessions.Store().Approvals.Answer(t.Context(), waits[0].ID, approval.Answer{Verdict: approval.ApproveOnce, As: record.Owner}); !errors.As(err, new(*approval.SecondPersonError)) {
				t.Errorf("who has begun it approves: %v", err)
			}
			if _, err := e.sessions.Store().Approvals.Answer(t.Context(), waits[0].ID, approval.Answer{Verdict: approval.ApproveOnce, As: record.TokenPerson("bob")}); err != nil {
				t.Error(err)
			}
			if text := <-got; !strings.Contains(text, "hello") {
				t.Errorf("the host is told %q", text)
			}
		})
	}
}
