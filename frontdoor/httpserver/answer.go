package httpserver

import (
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// writeTimeout is how long a client may take to accept one piece of an answer.
const writeTimeout = 30 * time.Second

// answer writes a JSON document.
func (s *Server) answer(w http.ResponseWriter, status int, body any) {
	data, err := caller.JSON(body)
	if err != nil {
		s.log.Error("encoding an answer", "err", err)
		status, data = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	err = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(append(data, '\n'))
	}
	if err != nil {
		s.log.Debug("answering a request", "err", err) // the client has gone
	}
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, why error) {
	e := caller.Explain(why, s.log)
	s.answer(w, e.Status, e.Body())
}
