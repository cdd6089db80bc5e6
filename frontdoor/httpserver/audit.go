package httpserver

import (
	"errors"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/audit"
)

// listAudit answers with a page of the records of the audit log that a query chooses, the
// newest first.
func (s *Server) listAudit(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, err := limitOf(query, defaultPage)
	if err == nil && s.audit == nil {
		err = caller.BadRequest(errors.New("this worker keeps no audit log"))
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	chosen := audit.Query{
		Kind: query.Get("kind"), Agent: query.Get("agent"), Tool: query.Get("tool"), Outcome: query.Get("outcome"), Session: query.Get("session"),
		Since: query.Get("since"), Until: query.Get("until"),
	}
	filter, err := chosen.Filter(time.Now())
	if err != nil {
		s.fail(w, caller.BadRequest(err))
		return
	}
	page, err := s.audit.Page(r.Context(), filter, limit, query.Get("cursor"))
	if errors.Is(err, audit.ErrCursor) {
		err = caller.BadRequest(err)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, struct {
		Records    []*audit.Record `json:"records"`
		NextCursor string          `json:"nextCursor,omitempty"`
	}{page.Records, page.Next})
}
