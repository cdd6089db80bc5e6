package permission

import (
	"strings"

	"github.com/agentworker/worker/permission/glob"
)

// anyText stands for whatever a "*" matches: only another "*" matches it.
const anyText = "\uE000/\uE001 \uE002"

// Lifted returns the rules in force that deny, and which a rule at the end that
// allows the pattern of tool might lift for some values. The pattern is one of
// "always": its beginning is certain.
func (r *Ruleset) Lifted(tool, pattern string) ([]Rule, error) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	begin := g.Prefix()
	var lifted []Rule
	for _, c := range r.of(tool) {
		other := c.pattern.Prefix()
		switch {
		case c.Action != Deny:
			if c.matches(&Value{Tool: tool, Text: begin + anyText}) && c.matches(&Value{Tool: tool, Text: begin}) { // it is about all of them
				lifted = nil
			}
		case strings.HasPrefix(begin, other) || strings.HasPrefix(other, begin):
			lifted = append(lifted, c.Rule)
		}
	}
	return lifted, nil
}
