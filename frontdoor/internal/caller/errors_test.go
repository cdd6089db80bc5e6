package caller_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/upkeep"
)

func TestExplain(t *testing.T) {
	unknown := &offer.UnknownAgentError{Name: "x", Accepted: []string{"explore"}}
	for _, tt := range []struct {
		err    error
		status int
		code   string
	}{
		{caller.ErrBusy, 429, "busy"},
		{fmt.Errorf("calling: %w", caller.ErrClosed), 503, "shutting_down"},
		{slots.ErrClosed, 503, "shutting_down"},
		{&approval.WrongAnswerError{Why: "x"}, 422, "wrong_answer"},
		{&approval.SecondPersonError{SecondPerson: &approval.SecondPerson{}}, 403, "second_person"},
		{slots.ErrFull, 429, "full"},
		{&slots.FullError{Limit: 2}, 429, "full"},
		{slots.ErrLost, 503, "lost"},
		{caller.BadRequest(errors.New("no JSON")), 400, "bad_request"},
		{caller.BadRequest(unknown), 422, "unknown_agent"},
		{fmt.Errorf("calling: %w", unknown), 422, "unknown_agent"},
		{fmt.Errorf("session x: %w", requests.ErrConcludes), 409, "concludes"},
		{fmt.Errorf("session x: %w", requests.ErrNotSent), 504, "not_sent"},
		{&requests.RefusedError{SessionID: "x", Why: "no call waits"}, 409, "not_moved"},
		{&control.InputError{Operation: "task_wait", Err: errors.New("what?")}, 400, "bad_request"},
		{fmt.Errorf("session x: %w", control.ErrRunning), 409, "running"},
		{fmt.Errorf("session x: %w", retention.ErrRunning), 409, "running"},
		{&upkeep.RefusedError{Err: errors.New("a merge is under way")}, 409, "not_done"},
		{&control.ResumeError{SessionID: "x", Err: record.ErrResumed}, 409, "not_resumed"},
		{&control.ResumeError{SessionID: "x", Err: caller.ErrBusy}, 429, "busy"},
		{fmt.Errorf("%w: ses_x", record.ErrNotFound), 404, "not_found"},
		{errors.New("disk 3 is full"), 500, "internal"},
	} {
		var log strings.Builder
		got := caller.Explain(tt.err, slog.New(slog.NewTextHandler(&log, nil)))
		if got.Status != tt.status || got.Code != tt.code {
			t.Errorf("%v: %d %s, want %d %s", tt.err, got.Status, got.Code, tt.status, tt.code)
		}
		// What is not meant for the caller is in the log, and only there.
		internal := tt.code == "internal"
		if strings.Contains(log.String(), tt.err.Error()) != internal || internal && strings.Contains(got.Message, tt.err.Error()) {
			t.Errorf("%v: message %q, log %q", tt.err, got.Message, log.String())
		}
		body, err := caller.JSON(got.Body())
		if want := fmt.Sprintf(`{"error":{"code":%q,"message":`, tt.code); err != nil || !strings.HasPrefix(string(body), want) {
			t.Errorf("%v: body %s, %v, want %s…", tt.err, body, err, want)
		}
	}
}

// TestPerson: only the owner and named tokens are somebody.
func TestPerson(t *testing.T) {
	for _, tt := range []struct {
		identity caller.Identity
		want     record.Person
		named    bool
	}{
		{caller.Identity{}, record.Unknown, false},
		{caller.Identity{Scopes: []caller.Scope{caller.Approve}}, record.Unknown, false},
		{caller.OwnerIdentity, record.Owner, true},
		{caller.Identity{Name: "bob", Scopes: []caller.Scope{caller.Approve}}, record.TokenPerson("bob"), true},
	} {
		if got := tt.identity.Person(); got != tt.want || got.Named() != tt.named {
			t.Errorf("%+v is %q, want %q", tt.identity, got, tt.want)
		}
	}
}
