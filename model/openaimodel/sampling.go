package openaimodel

import (
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// sampling adds temperature, top_p and reasoning_effort from req, except where OpenAI
// and Azure refuse them:
//
//   - temperature and top_p of a model that reasons: the o models and gpt-5
//     always, later ones with an effort other than none
//   - reasoning_effort beside tools, from gpt-5.4 on: there it is for the
//     Responses API alone
//
// Other servers get all of it.
func (m *Model) sampling(params *completion, req *model.Request) {
	version, alwaysReasons := openaiwire.Generation(m.server.Model)
	effort := openaiwire.Effort(req.Effort)
	if m.server.Known.OpenAI && version >= 504 && len(req.Tools) > 0 {
		effort = ""
	}
	params.ReasoningEffort = effort
	if m.server.Known.OpenAI && (alwaysReasons || effort != "" && effort != "none") {
		return
	}
	if req.Temperature != nil {
		params.Temperature = req.Temperature
	}
	if req.TopP != nil {
		params.TopP = req.TopP
	}
}
