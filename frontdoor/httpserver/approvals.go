package httpserver

import (
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
)

// approvalAPI serves the tool calls that wait for an answer.
type approvalAPI struct{ *Options }

// list answers with the tool calls that wait, the oldest first.
func (s approvalAPI) list(w http.ResponseWriter, r *http.Request) error {
	pending, err := caller.Approvals(r.Context(), s.Sessions)
	if err != nil {
		return err
	}
	page, next, err := part(r.URL.Query(), pending.Approvals, approvalKey)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		Approvals  []*approval.Approval `json:"approvals"`
		NextCursor string               `json:"nextCursor,omitempty"`
	}{page, next})
}

// approvalKey sorts approvals as lists have them.
func approvalKey(a *approval.Approval) string {
	return a.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000000Z ") + a.ID
}

// show answers with an approval, waiting or answered.
func (s approvalAPI) show(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	a, err := s.Sessions.Approvals.Get(r.Context(), id)
	if errors.Is(err, record.ErrAmbiguous) || err == nil && a.ID != id {
		err = &record.NotFoundError{What: "approval", ID: id}
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, a)
}

// answer answers one of them for the caller.
func (s approvalAPI) answer(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	approval, err := caller.AnswerApproval(r.Context(), s.Sessions, body, byAs(r, "an HTTP client"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, approval)
}
