package page

import (
	"errors"
	"net/http"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
)

// agents answers with the agents as they are, and what is wrong with their files.
func (p *Page) agents(w http.ResponseWriter, _ *http.Request) {
	if p.opts.Agents == nil {
		p.answer(w, struct{}{})
		return
	}
	p.answer(w, p.opts.Agents())
}

// explain says what the rules make of a call that a person has typed.
func (p *Page) explain(w http.ResponseWriter, r *http.Request) {
	var in struct{ Agent, Tool, Arg string }
	err := read(w, r, &in)
	switch {
	case err != nil:
	case in.Tool == "":
		err = caller.BadRequest(errors.New("tool is required"))
	case p.opts.Explain == nil:
		err = caller.BadRequest(errors.New("this worker does not explain calls"))
	}
	if err != nil {
		p.fail(w, err)
		return
	}
	answer, err := p.opts.Explain(r.Context(), in.Agent, in.Tool, in.Arg)
	if err != nil {
		p.fail(w, caller.BadRequest(errors.New(errtext.Of(err))))
		return
	}
	p.answer(w, answer)
}
