package httpserver

import (
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

// defaultPage is how many sessions a page has unless its caller asks for another
// number.
const defaultPage = 100

// listSessions answers with a page of the list of sessions.
func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, err := limitOf(query, defaultPage)
	if err != nil {
		s.fail(w, err)
		return
	}
	page, err := s.sessions.Page(r.Context(), store.ListOptions{Limit: limit, Cursor: query.Get("cursor"), Nested: query.Get("all") == "true"})
	if errors.Is(err, store.ErrCursor) {
		err = caller.BadRequest(err)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answerTagged(w, r, struct {
		Sessions   []*store.Record `json:"sessions"`
		NextCursor string          `json:"nextCursor,omitempty"`
	}{page.Sessions, page.Next})
}

func (s *Server) showSession(w http.ResponseWriter, r *http.Request) {
	record, err := s.record(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	messages, err := s.sessions.Messages(r.Context(), record.ID)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answerTagged(w, r, struct {
		*store.Record
		Messages []*store.Message `json:"messages"`
	}{record, append([]*store.Message{}, messages...)})
}

// stopSession ends a session and all below it, and answers with its record.
func (s *Server) stopSession(w http.ResponseWriter, r *http.Request) {
	record, err := s.record(r)
	if err == nil {
		record, err = s.sessions.Stop(r.Context(), record.ID, by(r))
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, record)
}

// record returns the record of the session that the address names in full.
func (s *Server) record(r *http.Request) (*store.Record, error) {
	id := r.PathValue("id")
	record, err := s.sessions.Get(r.Context(), id)
	if errors.Is(err, store.ErrAmbiguous) || err == nil && record.ID != id {
		return nil, &store.NotFoundError{What: "session", ID: id}
	}
	return record, err
}
