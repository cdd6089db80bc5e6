package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	allowed := make(map[string][]string) // methods, by path
	type route struct {
		method, path string
		handler      http.HandlerFunc
	}
	routes := []route{
		{http.MethodPost, "/v1/tasks", s.task},
		{http.MethodGet, "/v1/agents", s.listAgents},
		{http.MethodGet, "/v1/sessions", s.listSessions},
		{http.MethodGet, "/v1/sessions/{id}", s.showSession},
		{http.MethodDelete, "/v1/sessions/{id}", s.stopSession},
		{http.MethodGet, "/v1/sessions/{id}/events", s.events},
		{http.MethodGet, "/v1/approvals", s.listApprovals},
		{http.MethodPost, "/v1/approvals", s.answerApproval},
	}
	if s.page != nil {
		routes = append(routes, route{http.MethodPost, pageLinks, s.makePageLink})
		for _, r := range s.page.Routes() {
			routes = append(routes, route{r.Method, r.Path, r.Handler})
		}
	}
	for _, op := range control.Operations {
		routes = append(routes, route{http.MethodPost, controlPath(op), s.control(op)})
	}
	for _, route := range routes {
		mux.HandleFunc(route.method+" "+route.path, route.handler)
		allowed[route.path] = append(allowed[route.path], route.method)
	}
	for path, methods := range allowed {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.fail(w, &caller.Error{
				Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
				Message: fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(methods, " or "), r.Method),
			})
		})
	}
	if s.mcp != nil {
		mux.HandleFunc(mcpPath, s.serveMCP)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, &caller.Error{
			Status: http.StatusNotFound, Code: "not_found",
			Message: fmt.Sprintf("there is no %s here", r.URL.Path),
		})
	})
	return mux
}

// pageLinks is where who has the token gets a link to the page.
const pageLinks = "/v1/page/links"

func (s *Server) makePageLink(w http.ResponseWriter, _ *http.Request) {
	url, expires := s.PageLink()
	s.answer(w, http.StatusCreated, struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{url, expires.UTC()})
}

func (s *Server) listAgents(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, struct {
		Agents []taskt.Agent `json:"agents"`
	}{append([]taskt.Agent{}, s.tasks.Agents()...)})
}

// defaultPage is how many sessions a page has unless its caller asks for another
// number.
const defaultPage = 100

// listSessions answers with a page of the list of sessions.
func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	o := store.ListOptions{Limit: defaultPage, Cursor: query.Get("cursor"), Nested: query.Get("all") == "true"}
	if text := query.Get("limit"); text != "" {
		var err error
		if o.Limit, err = strconv.Atoi(text); err != nil || o.Limit < 1 || o.Limit > store.MaxPage {
			s.fail(w, caller.BadRequest(fmt.Errorf("limit=%.20s: a page has 1 to %d sessions", text, store.MaxPage)))
			return
		}
	}
	page, err := s.sessions.Page(r.Context(), o)
	if errors.Is(err, store.ErrCursor) {
		err = caller.BadRequest(err)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, struct {
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
	s.answer(w, http.StatusOK, struct {
		*store.Record
		Messages []*store.Message `json:"messages"`
	}{record, append([]*store.Message{}, messages...)})
}

// stopSession ends a session and all below it, and answers with its record.
func (s *Server) stopSession(w http.ResponseWriter, r *http.Request) {
	record, err := s.record(r)
	if err == nil {
		record, err = s.sessions.Stop(r.Context(), record.ID, "an HTTP client")
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
