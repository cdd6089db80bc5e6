package session

import (
	"errors"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// alwaysPatterns returns the patterns that "always" adds: none where the call
// would be asked about in spite of them, as one is whose redirection or unknown
// part is what the rules ask about.
func alwaysPatterns(layers *permission.Layers, name string, values []permission.Value) []string {
	patterns := shell.AlwaysPatterns(name, values)
	runtime, err := layers.Runtime.Append(allowRules(name, patterns)...)
	with := permission.Layers{Agents: layers.Agents, Static: layers.Static, Runtime: runtime}
	if err != nil || with.Decide(values).Action != permission.Allow {
		return nil
	}
	return patterns
}

func allowRules(name string, patterns []string) []permission.Rule {
	var rules []permission.Rule
	for _, p := range patterns {
		rules = append(rules, permission.Rule{Tool: name, Pattern: p, Action: permission.Allow, Source: permission.Source{File: "runtime"}})
	}
	return rules
}

// allowAlways adds the runtime rules of this session and the static ones.
func (s *Session) allowAlways(name string, patterns []string) error {
	s.mu.Lock()
	runtime, err := s.runtime.Append(allowRules(name, patterns)...)
	if err == nil {
		s.runtime = runtime
	}
	s.mu.Unlock()
	return errors.Join(err, s.m.static.Allow(name, patterns))
}
