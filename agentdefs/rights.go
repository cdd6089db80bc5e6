package agentdefs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/definition"
)

// RightsChange says in one line how a change of an agent file changes the
// rights of its agent: rules that are removed ("-") and added ("+"). before and
// after are the contents of the file, nil where it does not exist. home is what
// "~/" means in patterns.
func RightsChange(file string, before, after []byte, home string) string {
	was, old := rulesIn(file, before, home)
	name, rules := rulesIn(file, after, home)
	switch {
	case was == "" && name == "":
		return "it makes no agent of the file"
	case name == "":
		return "the agent " + was + " is gone"
	case was == "":
		return "a new agent, " + name + ", with the rules " + listed(rules)
	}
	var lines []string
	for _, r := range old {
		if !slices.Contains(rules, r) {
			lines = append(lines, "- "+r)
		}
	}
	for _, r := range rules {
		if !slices.Contains(old, r) {
			lines = append(lines, "+ "+r)
		}
	}
	text := "the rules of " + name + " change: " + strings.Join(lines, "; ")
	switch {
	case len(lines) == 0 && slices.Equal(old, rules):
		text = "the rules of " + name + " stay as they are"
	case len(lines) == 0:
		text = "the rules of " + name + " change their order, and the last that matches counts"
	}
	if was != name {
		text += "; it was " + was
	}
	return text
}

func listed(rules []string) string {
	if len(rules) == 0 {
		return "of permissions.jsonc alone"
	}
	return strings.Join(rules, "; ")
}

// rulesIn returns the name of the agent in a file and its rules; no name: there
// is none in it.
func rulesIn(file string, content []byte, home string) (name string, rules []string) {
	if content == nil {
		return "", nil
	}
	parsed := definition.Parse(file, content, definition.Options{Home: home})
	if parsed.Def == nil {
		return "", nil
	}
	for r := range parsed.Def.Permission.Rules() {
		rules = append(rules, r.String())
	}
	if parsed.Def.AllowAgents != nil {
		rules = append(rules, fmt.Sprintf("allowAgents: %q", parsed.Def.AllowAgents))
	}
	if parsed.Def.PlanExit != "" {
		rules = append(rules, fmt.Sprintf("planExit: %q", parsed.Def.PlanExit))
	}
	if parsed.Def.Worktree {
		rules = append(rules, "isolation: worktree")
	}
	return parsed.Def.Name, rules
}
