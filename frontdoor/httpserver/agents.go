package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// listAgents answers with the agents that can be called.
func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) {
	page, next, err := part(r.URL.Query(), s.tasks.Agents(), func(a taskt.Agent) string { return a.Name })
	if err != nil {
		s.fail(w, err)
		return
	}
	s.answer(w, http.StatusOK, struct {
		Agents     []taskt.Agent `json:"agents"`
		NextCursor string        `json:"nextCursor,omitempty"`
	}{page, next})
}

// showAgent answers with all that is known of an agent.
func (s *Server) showAgent(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if s.agent != nil {
		if agent, ok := s.agent(name); ok {
			s.answer(w, http.StatusOK, agent)
			return
		}
	}
	s.fail(w, &store.NotFoundError{What: "agent", ID: name})
}

// explainRequest is a call that the rules are asked about.
type explainRequest struct {
	Agent     string          `json:"agent"` // empty means permissions.jsonc alone is asked
	Tool      string          `json:"tool"`
	Arg       string          `json:"arg"`       // what the call is about: a path, a command
	Arguments json.RawMessage `json:"arguments"` // all of them, in place of Arg: a JSON object
}

// readExplain reads an [explainRequest].
func readExplain(body []byte) (in explainRequest, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, fmt.Errorf("reading the call: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("reading the call: there is something after the JSON object")
	}
	switch {
	case in.Tool == "":
		return in, errors.New("tool is required")
	case string(in.Arguments) == "null":
		in.Arguments = nil
	case len(in.Arguments) > 0 && in.Arg != "":
		return in, errors.New("arguments stands in place of arg: send one of them")
	case len(in.Arguments) > 0 && in.Arguments[0] != '{':
		return in, errors.New("arguments has to be an object")
	case len(in.Arguments) > 0:
		in.Arg = string(in.Arguments)
	}
	return in, nil
}

// explainCall answers with what the rules make of a call.
func (s *Server) explainCall(w http.ResponseWriter, r *http.Request) {
	body, err := s.readBody(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	in, err := readExplain(body)
	if err == nil && s.explain == nil {
		err = errors.New("this worker does not explain calls")
	}
	if err != nil {
		s.fail(w, caller.BadRequest(err))
		return
	}
	answer, err := s.explain(r.Context(), in.Agent, in.Tool, in.Arg)
	if err != nil {
		s.fail(w, caller.BadRequest(errors.New(errtext.Of(err))))
		return
	}
	s.answer(w, http.StatusOK, answer)
}
