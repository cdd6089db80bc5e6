package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
)

// agents tells of the agents of the workspace, and of the rules.
type agents struct {
	answers
	all  func() any                                                      // as [Options].Agents
	rule func(ctx context.Context, agent, tool, arg string) (any, error) // as [Options].Explain
}

// list answers with the agents as they are, and what is wrong with their files.
func (a *agents) list(w http.ResponseWriter, _ *http.Request) {
	if a.all == nil {
		a.answer(w, struct{}{}, nil)
		return
	}
	a.answer(w, a.all(), nil)
}

// explain answers with what the rules decide about a call that a person has typed.
func (a *agents) explain(w http.ResponseWriter, r *http.Request) {
	var in struct{ Agent, Tool, Arg string }
	err := read(w, r, &in)
	switch {
	case err != nil:
	case in.Tool == "":
		err = caller.BadRequest(errors.New("tool is required"))
	case a.rule == nil:
		err = caller.BadRequest(errors.New("this worker does not explain calls"))
	}
	if err != nil {
		a.fail(w, err)
		return
	}
	answer, err := a.rule(r.Context(), in.Agent, in.Tool, in.Arg)
	if err != nil {
		err = caller.BadRequest(errors.New(errtext.Of(err)))
	}
	a.answer(w, answer, err)
}
