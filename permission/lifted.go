package permission

import (
	"strings"

	"github.com/agentworker/worker/permission/glob"
)

// anyText is a text that only a "*" matches. Here it represents all texts.
const anyText = "\uE000/\uE001 \uE002"

// Lifted returns the denies that a new rule at the end could lift for some
// values. The new rule allows the pattern of tool. The pattern is one of
// "always": its beginning is certain.
func (r *Ruleset) Lifted(tool, pattern string) ([]Rule, error) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	begin := g.Prefix()
	text := strings.ReplaceAll(pattern, `\`, "")
	literal := glob.Quote(text) == pattern // it matches only text
	var lifted []Rule
	for _, c := range r.of(tool) {
		other := c.pattern.Prefix()
		switch {
		case c.Action != Deny:
			if c.matches(&Value{Tool: tool, Text: begin + anyText}) && c.matches(&Value{Tool: tool, Text: begin}) { // it is about all of them
				lifted = nil
			}
		case literal && !c.absolute && !c.matches(&Value{Tool: tool, Text: text}):
		case strings.HasPrefix(begin, other) || strings.HasPrefix(other, begin):
			lifted = append(lifted, c.Rule)
		}
	}
	return lifted, nil
}

// granted is d, which asks, unless trusted settings allow v.
func (l *Layers) granted(v *Value, d Decision) Decision {
	for _, r := range l.Granted {
		if c := r.last(v); c != nil && c.Action == Allow && c.means(v) {
			return c.decision(v, LayerRepository)
		}
	}
	return d
}
