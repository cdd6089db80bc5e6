package httpserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/upkeep"
)

// controlPath is where an operation is: task_wait at /v1/tasks/wait.
func controlPath(op *control.Operation) string {
	return "/v1/tasks/" + strings.TrimPrefix(op.Name, "task_")
}

// control returns the handler of an operation on the sessions of the workspace.
func (s *Server) control(op *control.Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.readBody(w, r)
		if err != nil {
			s.fail(w, err)
			return
		}
		answer, err := s.calls.Control(r.Context(), op, body, byAs(r, "an HTTP client"))
		if err != nil {
			s.fail(w, err)
			return
		}
		s.answer(w, http.StatusOK, answer)
	}
}

// keep returns the handler of an operation on a session that has ended.
func (s *Server) keep(op *upkeep.Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := http.NewResponseController(w).SetReadDeadline(time.Time{}) // it may take long
		var answer any
		if err == nil {
			answer, err = op.Do(r.Context(), s.upkeep, r.PathValue("id"))
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		if gone, ok := answer.(*upkeep.Deleted); ok && s.page != nil {
			s.page.Deleted(gone.SessionID)
		}
		s.log.Info("done with a session", "operation", op.Name, "session", r.PathValue("id"), "by", by(r))
		s.answer(w, http.StatusOK, answer)
	}
}
