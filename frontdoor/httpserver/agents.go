package httpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// agentAPI serves what is known of agents and of their rules.
type agentAPI struct{ *Options }

// list answers with the agents that can be called.
func (s agentAPI) list(w http.ResponseWriter, r *http.Request) error {
	page, next, err := part(r.URL.Query(), s.Tasks.Offer().Agents, func(a taskt.Agent) string { return a.Name })
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		Agents     []taskt.Agent `json:"agents"`
		NextCursor string        `json:"nextCursor,omitempty"`
	}{page, next})
}

// show answers with all that is known of an agent.
func (s agentAPI) show(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if s.Agent != nil {
		if agent, ok := s.Agent(name); ok {
			return answer(w, http.StatusOK, agent)
		}
	}
	return &record.NotFoundError{What: "agent", ID: name}
}

// explainRequest is a call that the rules are asked about.
type explainRequest struct {
	Agent     string          `json:"agent"` // empty asks only permissions.jsonc
	Tool      string          `json:"tool"`
	Arg       string          `json:"arg"`       // what the call is about: a path, a command
	Arguments json.RawMessage `json:"arguments"` // all of them, instead of Arg: a JSON object
}

// readExplain reads an [explainRequest].
func readExplain(body []byte) (in explainRequest, err error) {
	if err := caller.Decode(body, &in); err != nil {
		return in, fmt.Errorf("reading the call: %w", err)
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

// explain answers with what the rules make of a call.
func (s agentAPI) explain(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	in, err := readExplain(body)
	if err == nil && s.Explain == nil {
		err = errors.New("this worker does not explain calls")
	}
	if err != nil {
		return caller.BadRequest(err)
	}
	explained, err := s.Explain(r.Context(), in.Agent, in.Tool, in.Arg)
	if err != nil {
		return caller.BadRequest(errors.New(errtext.Of(err)))
	}
	return answer(w, http.StatusOK, explained)
}
