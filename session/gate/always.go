package gate

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// AlwaysPatterns returns the patterns that "always" adds, or nil where the call
// would be asked about in spite of them, as one is whose redirection or unknown
// part is what the rules ask about.
func (l *Layers) AlwaysPatterns(name string, values []permission.Value) []string {
	if l.lasting != nil {
		return nil
	}
	patterns := shell.AlwaysPatterns(name, values)
	rules, err := allowRules(l.Static, name, patterns)
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

// allowRules are the runtime rules of "always". A rule of the user that denies a
// part of what they allow stands behind them, too: an answer lifts no deny.
func allowRules(static *permission.Ruleset, name string, patterns []string) ([]permission.Rule, error) {
	var rules, denies []permission.Rule
	for _, p := range withBare(patterns) {
		rules = append(rules, permission.Rule{Tool: name, Pattern: p, Action: permission.Allow, Source: permission.Source{File: "runtime"}})
		lifted, err := static.Lifted(name, p)
		if err != nil {
			return nil, err
		}
		denies = append(denies, lifted...)
	}
	return append(rules, denies...), nil
}

// AlwaysRules returns the patterns of the rules that the answer "always" adds for an
// approval's AlwaysPatterns, in their order.
func AlwaysRules(patterns []string) []string { return withBare(patterns) }

// withBare adds to patterns of commands with any arguments the one of the command
// without: "git push" before "git push *".
func withBare(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		if bare, ok := strings.CutSuffix(p, " *"); ok && !slices.Contains(all, bare) {
			all = append(all, bare)
		}
		all = append(all, p)
	}
	return all
}
