package anthropicmodel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/agentworker/worker/model"
)

// sampling adds temperature, top_p and effort from p, except where the model refuses
// them:
//
//   - temperature and top_p, from Claude Opus 4.7 and Claude 5 on
//   - both of them together, before: temperature counts
//   - effort, before Claude Opus 4.5 and Claude Sonnet 4.6
//
// Names that are not of the form claude-FAMILY-VERSION are other servers' and
// get all of it.
func (m *Model) sampling(params *anthropic.MessageNewParams, p model.Params) {
	family, version, known := claude(m.name)
	fixed := known && (version >= 500 || family == "opus" && version >= 407)
	switch {
	case fixed:
	case p.Temperature != nil:
		params.Temperature = anthropic.Float(*p.Temperature)
	case p.TopP != nil:
		params.TopP = anthropic.Float(*p.TopP)
	}
	if !known || version >= 500 || family == "opus" && version >= 405 || family == "sonnet" && version >= 406 {
		params.OutputConfig.Effort = effort(p.Effort)
	}
}

// effort returns the API's word for an effort; its least is low.
func effort(word string) anthropic.OutputConfigEffort {
	switch e := anthropic.OutputConfigEffort(strings.ToLower(strings.TrimSpace(word))); e {
	case "none", "minimal":
		return anthropic.OutputConfigEffortLow
	case anthropic.OutputConfigEffortLow, anthropic.OutputConfigEffortMedium, anthropic.OutputConfigEffortHigh,
		anthropic.OutputConfigEffortXhigh, anthropic.OutputConfigEffortMax:
		return e
	default:
		return ""
	}
}

// claudeName matches claude-opus-4-7 and claude-sonnet-4-20250514, and, of an
// older form, claude-3-5-haiku-20241022.
var claudeName = regexp.MustCompile(`^claude-(?:([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?|(\d)(?:-(\d))?-[a-z]+)(?:-|$)`)

// claude returns the family and the version of a model, 407 for 4.7.
func claude(name string) (family string, version int, ok bool) {
	part := claudeName.FindStringSubmatch(name)
	if part == nil {
		return "", 0, false
	}
	major, _ := strconv.Atoi(part[2] + part[4]) // digits, or nothing: 0
	minor, _ := strconv.Atoi(part[3] + part[5])
	return part[1], 100*major + minor, true
}
