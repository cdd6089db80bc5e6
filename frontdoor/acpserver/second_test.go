//go:build unix

package acpserver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
)

// TestSecondPerson: the editor's user has asked for the work: it is not asked about what takes
// a second person, but told.
func TestSecondPerson(t *testing.T) {
	e := newEnv(t, touching, doortest.Under(t, `{"secondPerson": {"touch": "ask"}}`))
	c := e.editor(acpserver.Options{})
	id := c.begin()
	c.answer = func(acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		t.Error("the editor's user was asked")
		return acp.RequestPermissionResponse{}, errors.New("nobody is there")
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.prompt(id, "work")
		done <- err
	}()
	c.sees("A second person has to approve it")
	pending, err := e.Sessions.Store().Approvals.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		t.Fatalf("%v, %v", pending, err)
	}
	if _, err := e.Sessions.Store().Approvals.Answer(t.Context(), pending[0].ID, approval.Answer{Verdict: approval.ApproveOnce, As: record.Owner}); !errors.As(err, new(*approval.SecondPersonError)) {
		t.Errorf("the person who started it approves: %v", err)
	}
	if _, err := e.Sessions.Store().Approvals.Answer(t.Context(), pending[0].ID, approval.Answer{Verdict: approval.ApproveOnce, As: record.TokenPerson("bob")}); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if lines := c.shown(); !strings.Contains(lines, "touched") {
		t.Errorf("shown:\n%s", lines)
	}
}
