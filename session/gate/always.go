package gate

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// AlwaysPatterns returns the patterns that "always" would add. It returns nil if the rules
// would ask about the call all the same, for instance because of a redirection.
func (l *Layers) AlwaysPatterns(name string, values []permission.Value) []string {
	if l.lasting != nil {
		return nil
	}
	patterns := shell.AlwaysPatterns(name, values)
	rules, err := allowRules(l.Static, l.Defaults, name, patterns)
	if err != nil {
		return nil
	}
	runtime, err := l.Runtime.Append(rules...)
	if err != nil {
		return nil
	}
	with := *l
	with.Runtime = runtime
	if with.Decide(values).Action != permission.Allow {
		return nil
	}
	return patterns
}

// allowRules are the runtime rules of "always". After them come the defaults and the user's
// rules that deny a part of what they allow: an answer lifts no deny.
func allowRules(static, defaults *permission.Ruleset, name string, patterns []string) ([]permission.Rule, error) {
	var rules, denies []permission.Rule
	for _, p := range AlwaysRules(patterns) {
		rules = append(rules, permission.Rule{Tool: name, Pattern: p, Action: permission.Allow, Source: permission.Source{File: "runtime"}})
		for _, rules := range []*permission.Ruleset{defaults, static} {
			lifted, err := rules.Lifted(name, p)
			if err != nil {
				return nil, err
			}
			denies = append(denies, lifted...)
		}
	}
	return append(rules, denies...), nil
}

// AlwaysRules returns the patterns of the rules that the answer "always" adds for an
// approval's AlwaysPatterns. The pattern of a command with any arguments also allows the
// command without: "git push" before "git push *".
func AlwaysRules(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		if bare, ok := strings.CutSuffix(p, " *"); ok && !slices.Contains(all, bare) {
			all = append(all, bare)
		}
		all = append(all, p)
	}
	return all
}
