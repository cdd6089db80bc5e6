package acpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
)

// touching has a subagent call touch. All answer with what their call has returned.
var touching modeltest.Func = func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	last := req.Messages[len(req.Messages)-1]
	call := model.ToolCall{ID: "c1", Name: "task", Arguments: `{"description": "touch it", "prompt": "the child's", "agentType": "general"}`}
	switch {
	case len(last.ToolResults) > 0:
		return modeltest.Say(last.ToolResults[0].Text)(ctx, req, yield)
	case strings.Contains(last.Text, "the child's"):
		call = model.ToolCall{ID: "k1", Name: "touch", Arguments: `{"why": "x"}`}
	}
	_ = yield(call) && yield(model.Stop{Reason: model.StopToolCalls})
	return nil
}

// TestQuestions: a question names the subagent, and is one of the session of the
// protocol. Only an option that was offered lets the call through; what the client can't
// be asked, another answers.
func TestQuestions(t *testing.T) {
	selected := func(option string) acp.RequestPermissionResponse {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(option))}
	}
	for name, tt := range map[string]struct {
		answer acp.RequestPermissionResponse
		fails  bool // the client can't be asked
		says   string
	}{
		"allowed":    {answer: selected("allow_once"), says: "touched"},
		"always":     {answer: selected("allow_always"), says: "touched"},
		"rejected":   {answer: selected("reject_once"), says: "denied"},
		"unknown":    {answer: selected("reject_always"), says: "not offered"},
		"dismissed":  {answer: acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, says: "dismissed"},
		"by another": {fails: true, says: "touched"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, touching)
			c := e.editor(acpserver.Options{})
			id := c.begin()
			c.answer = func(req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
				var options []string
				for _, o := range req.Options {
					options = append(options, string(o.OptionId))
				}
				if *req.ToolCall.Title != "primary › general asks to touch it (touch)" || req.SessionId != id || strings.Join(options, " ") != "allow_once allow_always reject_once" ||
					!strings.HasSuffix(string(req.ToolCall.ToolCallId), "/k1") || !strings.HasPrefix(string(req.ToolCall.ToolCallId), "ses_") {
					t.Errorf("asked %+v", req)
				}
				if tt.fails {
					return acp.RequestPermissionResponse{}, errors.New("there is no screen")
				}
				return tt.answer, nil
			}
			done := make(chan error, 1)
			go func() {
				_, err := c.prompt(id, "work")
				done <- err
			}()
			if tt.fails {
				c.sees("worker approvals approve apr_")
				pending, err := e.Sessions.Store().Approvals.Pending(t.Context())
				if err != nil || len(pending) != 1 {
					t.Fatalf("%v, %v", pending, err)
				}
				if _, err := e.Sessions.Store().Approvals.Answer(t.Context(), pending[0].ID, approval.Answer{Verdict: approval.ApproveOnce, By: "another"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if lines := c.shown(); !strings.Contains(lines, tt.says) || !strings.Contains(lines, "ses_/k1: ") {
				t.Errorf("shown:\n%s\nwant %q", lines, tt.says)
			}
		})
	}
}

// TestEnd: the end of the connection, and a client that reads nothing any more, end the
// turn and the session; what waited for an answer is not let through.
func TestEnd(t *testing.T) {
	for _, silent := range []bool{false, true} {
		e := newEnv(t, touching)
		opts := acpserver.Options{}
		if silent {
			opts.Grace = 1
		}
		c := e.editor(opts)
		id := c.begin()
		asked, over := make(chan struct{}), make(chan struct{})
		c.answer = func(acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			close(asked)
			<-over
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("allow_once")}, nil
		}
		done := make(chan acp.StopReason, 1)
		go func() {
			reason, _ := c.prompt(id, "work") // an error: the reason is empty
			done <- reason
		}()
		<-asked
		if silent {
			c.reads.Lock()
		}
		c.end()
		close(over)
		if silent {
			c.reads.Unlock()
		}
		if !silent {
			if reason := <-done; reason != acp.StopReasonCancelled {
				t.Errorf("stop reason %q", reason)
			}
		}
		records, err := e.Sessions.Store().Index.List(t.Context())
		if err != nil || len(records) != 2 {
			t.Fatalf("%v, %v", records, err)
		}
		for _, r := range records {
			if !r.Status.Ended() || r.ParentID != "" && r.Status != record.Cancelled {
				t.Errorf("session %s of %s is %s: %s", r.ID, r.Agent, r.Status, r.Error)
			}
		}
	}
}
