package httpserver

import (
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

// listApprovals answers with the tool calls that wait, the oldest first.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) {
	pending, err := caller.Approvals(r.Context(), s.sessions)
	if err != nil {
		s.fail(w, err)
		return
	}
	page, next, err := part(r.URL.Query(), pending.Approvals, approvalKey)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, struct {
		Approvals  []*store.Approval `json:"approvals"`
		NextCursor string            `json:"nextCursor,omitempty"`
	}{page, next})
}

// approvalKey sorts approvals as lists have them.
func approvalKey(a *store.Approval) string {
	return a.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000000Z ") + a.ID
}

// showApproval answers with an approval, waiting or answered.
func (s *Server) showApproval(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	a, err := s.sessions.Approval(r.Context(), id)
	if errors.Is(err, store.ErrAmbiguous) || err == nil && a.ID != id {
		err = &store.NotFoundError{What: "approval", ID: id}
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, a)
}

// answerApproval answers one of them for the caller.
func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) {
	body, err := s.readBody(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	approval, err := caller.AnswerApproval(r.Context(), s.sessions, body, byAs(r, "an HTTP client"))
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, approval)
}
