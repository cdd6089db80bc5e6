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
		if on, ok := parseBool(e.node.Content[i+1].Value); ok && !on {
			if tools, kind := translate(e.node.Content[i].Value); kind == toolOurs {
				for _, name := range tools {
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
		tools, kind := translate(key.Value)
		switch {
		case kind == toolAbsent:
			p.report(codeToolNoCounterpart, key.Line, key.Column, "", "%s has no counterpart here", key.Value)
			continue
		case kind == toolUnknown && !ascii(key.Value):
			p.refuse(codePermissionInvalid, key.Line, key.Column, "write it in plain letters", "%s: no tool has such a name as %s", e.key, shownKey(key.Value))
		case kind == toolUnknown && key.Value != "*" && plainToolName.MatchString(key.Value):
			p.report(codeToolUnknown, key.Line, key.Column, "", "%s is not a built-in tool here; the rule holds for a tool of that name", key.Value)
		}
		action := permission.Deny
		if on {
			action = permission.Allow
		}
		var c clause
		for _, tool := range tools {
			if on && len(tools) > 1 && off[tool] { // "edit: true" is no "write: true"
				continue
			}
			c = append(c, p.rule(key, tool, action))
		}
		if len(c) > 0 {
			clauses = append(clauses, c)
		}
	}
	return clauses
}
