package openaimodel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/agentworker/worker/model"
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
	version, alwaysReasons := generation(m.name)
	effort := effort(req.Effort)
	if m.known.OpenAI && version >= 504 && len(req.Tools) > 0 {
		effort = ""
	}
	params.ReasoningEffort = effort
	if m.known.OpenAI && (alwaysReasons || effort != "" && effort != "none") {
		return
	}
	if req.Temperature != nil {
		params.Temperature = req.Temperature
	}
	if req.TopP != nil {
		params.TopP = req.TopP
	}
}

// effort returns the API's word for an effort.
func effort(word string) string {
	switch e := strings.ToLower(strings.TrimSpace(word)); e {
	case "none", "minimal", "low", "medium", "high", "xhigh", "max":
		return e
	default:
		return ""
	}
}

var (
	gptName = regexp.MustCompile(`^gpt-(\d{1,2})(?:\.(\d{1,2}))?(?:-|$)`)
	oName   = regexp.MustCompile(`^o\d(?:-|$)`)
)

// generation returns the version of a model, 504 for gpt-5.4 and 0 for those of
// other names, and whether it reasons whatever is asked for.
func generation(name string) (version int, alwaysReasons bool) {
	part := gptName.FindStringSubmatch(name)
	if part == nil {
		return 0, oName.MatchString(name)
	}
	major, _ := strconv.Atoi(part[1]) // digits, or nothing: 0
	minor, _ := strconv.Atoi(part[2])
	version = 100*major + minor
	return version, version == 500
}
