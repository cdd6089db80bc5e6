package httpserver

import (
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// listApprovals answers with the tool calls that wait, the oldest first.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) {
	pending, err := caller.Approvals(r.Context(), s.sessions)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, pending)
}

// answerApproval answers one of them for the caller.
func (s *Server) answerApproval(w http.ResponseWriter, r *http.Request) {
	body, err := s.readBody(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	approval, err := caller.AnswerApproval(r.Context(), s.sessions, body, "an HTTP client")
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, approval)
}
