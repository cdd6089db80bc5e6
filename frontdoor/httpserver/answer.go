package httpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// writeTimeout is how long a client may take to accept one piece of an answer.
const writeTimeout = 30 * time.Second

// jsonType is the type of a JSON document.
const jsonType = "application/json"

// answer writes a JSON document.
func (s *Server) answer(w http.ResponseWriter, status int, body any) {
	if data, ok := s.encode(w, body); ok {
		s.write(w, status, jsonType, data)
	}
}

// answerTagged writes a JSON document with its entity tag. A client that has the same one
// gets 304 in place of it.
func (s *Server) answerTagged(w http.ResponseWriter, r *http.Request, body any) {
	data, ok := s.encode(w, body)
	if !ok {
		return
	}
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", tag)
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.write(w, http.StatusOK, jsonType, data)
}

// hasTag reports whether a header If-None-Match has a tag, or stands for any.
func hasTag(header []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}

// encode returns the form of a document on the wire. Without one it has answered so.
func (s *Server) encode(w http.ResponseWriter, body any) (data []byte, ok bool) {
	data, err := caller.JSON(body)
	if err != nil {
		s.fail(w, errors.Join(errors.New("encoding an answer"), err))
		return nil, false
	}
	return append(data, '\n'), true
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, why error) {
	e := caller.Explain(why, s.log)
	if data, ok := s.encode(w, problem.Of(e)); ok {
		s.write(w, e.Status, problem.MediaType, data)
	}
}

func (s *Server) write(w http.ResponseWriter, status int, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(data)
	}
	if err != nil {
		s.log.Debug("answering a request", "err", err) // the client has gone
	}
}

// by says to people who makes a request.
func by(r *http.Request) string { return byAs(r, "an HTTP client").Text }

// byAs says who makes a request, and to people what is done so.
func byAs(r *http.Request, what string) caller.By {
	identity := caller.IdentityOf(r.Context())
	return caller.By{Text: identity.By(what), Person: identity.Person()}
}
