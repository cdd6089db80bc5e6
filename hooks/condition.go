package hooks

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// applies reports whether the rule in "if" may be about the call. One that can't be read
// exactly is about all calls of its tool.
func applies(h *hookconfig.Hook, c *Call) bool {
	if h.If == "" || !c.Event.OfTool() {
		return true
	}
	name, rest, ok := strings.Cut(h.If, "(")
	if !slices.Contains(toolcatalog.HookNames(c.Tool, true), strings.TrimSpace(name)) {
		return false
	}
	if !ok || c.Tool != toolcatalog.ShellExec {
		return true
	}
	values := c.Values
	if values == nil { // of a call that was made, or is not
		var in struct{ Command string }
		if json.Unmarshal(c.Input, &in) != nil || strings.ContainsAny(in.Command, ";|&$`(){}<>\n\\'\"=") {
			return true
		}
		values = []permission.Value{{Tool: toolcatalog.ShellExec, Text: strings.TrimSpace(in.Command)}}
	}
	rules, err := conditionOf(strings.TrimSuffix(strings.TrimSpace(rest), ")"))
	if err != nil {
		return true
	}
	// The rule is about what it would deny, in any spelling.
	layers := permission.Layers{Policies: []*permission.Ruleset{rules}}
	return slices.ContainsFunc(values, func(v permission.Value) bool {
		return layers.Decide([]permission.Value{v}).Layer == permission.LayerPolicy
	})
}

// conditionOf returns the rules that deny the commands of a pattern such as "git push:*", where
// only the star is special.
func conditionOf(pattern string) (*permission.Ruleset, error) {
	command, any := strings.CutSuffix(pattern, ":*")
	if !any {
		command, any = strings.CutSuffix(pattern, " *")
	}
	parts := strings.Split(command, "*")
	for i := range parts {
		parts[i] = glob.Quote(parts[i])
	}
	command = strings.Join(parts, "*")
	rules := []permission.Rule{{Tool: toolcatalog.ShellExec, Pattern: command, Action: permission.Deny}}
	if any {
		rules = append(rules, permission.Rule{Tool: toolcatalog.ShellExec, Pattern: command + " *", Action: permission.Deny})
	}
	return permission.NewRuleset(rules...)
}
