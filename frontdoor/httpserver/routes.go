package httpserver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/agentworker/worker/frontdoor/httpserver/openapi"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/upkeep"
)

// route is what a method and a path are answered by, for callers with a scope.
type route struct {
	method, path string // method empty means all
	scope        caller.Scope
	handler      handler
	streams      bool // a GET stays open as long as its client wants
}

// table returns all routes. The document of package openapi has the same.
func (s *Server) table() []route {
	get, post := http.MethodGet, http.MethodPost
	table := []route{
		{post, "/v1/tasks", caller.Run, s.tasks.call, false},
		{get, "/v1/agents", caller.Read, s.agents.list, false},
		{get, "/v1/agents/{name}", caller.Read, s.agents.show, false},
		{get, "/v1/sessions", caller.Read, s.sessions.list, false},
		{get, "/v1/sessions/{id}", caller.Read, s.sessions.show, false},
		{http.MethodDelete, "/v1/sessions/{id}", caller.Run, s.sessions.stop, false},
		{get, "/v1/sessions/{id}/events", caller.Read, s.sessions.events, true},
		{post, "/v1/sessions/{id}/commands/{command}/stop", caller.Owner, s.sessions.stopCommand, false},
		{get, "/v1/sessions/{id}/export", caller.Read, s.sessions.export, false},
		{get, "/v1/approvals", caller.Read, s.approvals.list, false},
		{get, "/v1/approvals/{id}", caller.Read, s.approvals.show, false},
		{post, "/v1/approvals", caller.Approve, s.approvals.answer, false},
		{post, "/v1/explain", caller.Read, s.agents.explain, false},
		{get, "/v1/audit", caller.Read, auditAPI{s.opts}.list, false},
		{get, "/v1/openapi.yaml", caller.Read, document, false},
		{get, "/healthz", caller.Read, s.status.healthy, false},
		{get, "/readyz", caller.Read, s.status.ready, false},
		{get, "/metrics", caller.Read, s.status.measure, false},
	}
	if s.opts.Profiles {
		table = append(table, route{get, "/debug/pprof/{profile...}", caller.Owner, plain(s.status.profile), false})
	}
	for _, op := range control.Operations {
		scope := caller.Run
		if op.ReadOnly {
			scope = caller.Read
		}
		table = append(table, route{post, controlPath(op), scope, s.tasks.control(op), false})
	}
	if s.opts.Upkeep != nil {
		for _, op := range upkeep.Operations {
			scope := caller.Run
			if op.Owner {
				scope = caller.Owner
			}
			table = append(table, route{post, "/v1/sessions/{id}/" + op.Name, scope, s.sessions.upkeep(op), false})
		}
	}
	if s.opts.Snapshots != nil {
		table = append(table, route{get, "/v1/sessions/{id}/changes", caller.Owner, s.sessions.changes, false},
			route{post, "/v1/sessions/{id}/revert", caller.Owner, s.sessions.revert, false})
	}
	if s.opts.MCP != nil {
		table = append(table, route{"", mcpPath, caller.Read, s.opts.serveMCP, true}) // it looks at the scopes of each call
	}
	if s.page != nil {
		table = append(table, route{post, pageLinks, caller.Read, s.makePageLink, false})
		for _, r := range s.page.Routes() {
			table = append(table, route{r.Method, r.Path, r.Scope, plain(r.Handler), r.Streams})
		}
	}
	return table
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	allowed := make(map[string][]string) // methods, by path
	for _, r := range s.table() {
		mux.HandleFunc(strings.TrimSpace(r.method+" "+r.path), s.scoped(r))
		if r.method != "" {
			allowed[r.path] = append(allowed[r.path], r.method)
		}
	}
	for path, methods := range allowed {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			fail(w, &caller.Error{
				Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
				Message: fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(methods, " or "), r.Method),
			}, s.opts.Logger)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &caller.Error{
			Status: http.StatusNotFound, Code: "not_found",
			Message: fmt.Sprintf("there is no %s here", r.URL.Path),
		}, s.opts.Logger)
	})
	return mux
}

// scoped is the handler of a route, for those who have its scope.
func (s *Server) scoped(to route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c, ok := w.(*counted); ok {
			c.path = to.path
		}
		identity := caller.IdentityOf(r.Context())
		err := identity.Require(to.scope)
		s.note(r, identity, to.scope, err)
		if err != nil {
			fail(w, err, s.opts.Logger)
			return
		}
		end, err := s.streams.begin(r.Method, to, identity)
		if err != nil {
			fail(w, err, s.opts.Logger)
			return
		}
		defer end()
		if err := to.handler(w, r); err != nil {
			fail(w, err, s.opts.Logger)
		}
	}
}

// note logs what somebody does, or is refused, with a named token.
func (s *Server) note(r *http.Request, identity caller.Identity, scope caller.Scope, refused error) {
	switch {
	case identity.Name == "":
	case refused != nil:
		s.opts.Logger.Warn("a named token was refused", "token", identity.Name, "scope", string(scope), "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	case scope != caller.Read && scope != caller.Anyone:
		s.opts.Logger.Info("a named token was used", "token", identity.Name, "scope", string(scope), "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	}
}

// document answers with the description of this door.
func document(w http.ResponseWriter, _ *http.Request) error {
	return write(w, http.StatusOK, "application/yaml", openapi.Document)
}
