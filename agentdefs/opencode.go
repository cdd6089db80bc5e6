package agentdefs

import (
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
)

// toolSwitches reads opencode's map of tools, "write: false", in file order.
func (p *parser) toolSwitches(e entry) []clause {
	if tagged(e.node) {
		p.refuse(codePermissionInvalid, e.line, e.column, "write true or false for each tool", "%s cannot be read exactly, so nothing of this file is served", e.key)
		return nil
	}
	off := map[string]bool{} // our tools that the map switches off by a name
	for i := 0; i+1 < len(e.node.Content); i += 2 {
		key := e.node.Content[i].Value
		if on, ok := parseBool(e.node.Content[i+1].Value); ok && !on {
			if c, kind := translate(key); kind == toolOurs {
				for _, name := range switched(key, c) {
					off[name] = true
				}
			}
		}
	}
	var clauses []clause
	seen := map[string]bool{}
	for i := 0; i+1 < len(e.node.Content); i += 2 {
		key, value := e.node.Content[i], e.node.Content[i+1]
		on, ok := parseBool(value.Value)
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode || !ok || seen[key.Value] || key.Value == "<<" {
			p.refuse(codePermissionInvalid, key.Line, key.Column, "write each tool once, with true or false", "%s: what is said of %q cannot be read exactly, so nothing of this file is served", e.key, key.Value)
			continue
		}
		seen[key.Value] = true
		c, kind := translate(key.Value)
		switch {
		case kind == toolAbsent:
			p.report(codeToolNoCounterpart, key.Line, key.Column, "", "%s has no counterpart here", key.Value)
			continue
		case kind == toolUnknown && !ascii(key.Value):
			p.refuse(codePermissionInvalid, key.Line, key.Column, "write it in plain letters", "%s: no tool has such a name as %s", e.key, shownKey(key.Value))
		case kind == toolUnknown && key.Value != "*" && plainToolName.MatchString(key.Value):
			p.report(codeToolUnknown, key.Line, key.Column, "", "%s is not a built-in tool here; the rule holds for a tool of that name", key.Value)
		}
		action, tools := permission.Deny, switched(key.Value, c)
		if on {
			action, tools = permission.Allow, c.allow
		}
		var rules clause
		for _, tool := range tools {
			if on && off[tool] && (len(tools) > 1 || writers[key.Value] && key.Value != "write") { // "edit: true" is no "write: true"
				continue
			}
			r := p.rule(key, tool, action)
			if c.only != "" {
				r.Pattern = c.only
			}
			rules = append(rules, r)
		}
		if len(rules) > 0 {
			clauses = append(clauses, rules)
		}
	}
	return clauses
}

// switched returns the tools that a name in opencode's map switches off: one
// that writes stands for all of them, as it does there.
func switched(name string, c counterpart) []string {
	if writers[name] {
		return []string{"write_file", "edit_file"}
	}
	return c.deny
}
