package httpserver

import (
	"errors"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/audit"
)

// auditAPI serves the audit log.
type auditAPI struct{ *Options }

// list answers with a page of the records that a query chooses, the newest first.
func (s auditAPI) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := limitOf(query, defaultPage)
	if err == nil && s.Audit == nil {
		err = caller.BadRequest(errors.New("this worker keeps no audit log"))
	}
	if err != nil {
		return err
	}
	chosen := audit.Query{
		Kind: query.Get("kind"), Agent: query.Get("agent"), Tool: query.Get("tool"), Outcome: query.Get("outcome"), Session: query.Get("session"),
		Since: query.Get("since"), Until: query.Get("until"),
	}
	filter, err := chosen.Filter(time.Now())
	if err != nil {
		return caller.BadRequest(err)
	}
	page, err := s.Audit.Page(r.Context(), filter, limit, query.Get("cursor"))
	if errors.Is(err, audit.ErrCursor) {
		err = caller.BadRequest(err)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		Records    []*audit.Record `json:"records"`
		NextCursor string          `json:"nextCursor,omitempty"`
	}{page.Records, page.Next})
}
