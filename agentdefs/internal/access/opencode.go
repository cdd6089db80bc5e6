package access

import (
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// toolSwitches reads opencode's map of tools, "write: false", in file order.
func (p *Reader) toolSwitches(e agentfile.Entry) []Clause {
	if agentfile.IsTagged(e.Node) {
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write true or false for each tool", "%s cannot be read exactly, so nothing of this file is served", e.Key)
		return nil
	}
	off := map[string]bool{} // our tools that the map switches off by a name
	for i := 0; i+1 < len(e.Node.Content); i += 2 {
		key := e.Node.Content[i].Value
		if on, ok := agentfile.ParseBool(e.Node.Content[i+1].Value); ok && !on {
			if c, kind := dialect.Translate(key); kind == dialect.OwnTool {
				for _, name := range switched(key, c) {
					off[name] = true
				}
			}
		}
	}
	var clauses []Clause
	seen := map[string]bool{}
	for i := 0; i+1 < len(e.Node.Content); i += 2 {
		key, value := e.Node.Content[i], e.Node.Content[i+1]
		on, ok := agentfile.ParseBool(value.Value)
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode || !ok || seen[key.Value] || key.Value == "<<" {
			p.Refuse(diag.PermissionInvalid, key.Line, key.Column, "write each tool once, with true or false", "%s: what is said of %q cannot be read exactly, so nothing of this file is served", e.Key, key.Value)
			continue
		}
		seen[key.Value] = true
		c, kind := dialect.Translate(key.Value)
		if on && key.Value != "*" {
			p.named(key.Value, c.Allow)
		}
		switch {
		case kind == dialect.AbsentTool:
			p.Report(diag.ToolNoCounterpart, key.Line, key.Column, "", "%s has no counterpart here", key.Value)
			continue
		case kind == dialect.UnknownTool && !spelling.IsASCII(key.Value):
			p.Refuse(diag.PermissionInvalid, key.Line, key.Column, "write it in plain letters", "%s: no tool has such a name as %s", e.Key, spelling.Visible(key.Value))
		case kind == dialect.UnknownTool && key.Value != "*" && plainToolName.MatchString(key.Value):
			p.Report(diag.ToolUnknown, key.Line, key.Column, "", "%s is not a built-in tool here; the rule holds for a tool of that name", key.Value)
		}
		action, tools := permission.Deny, switched(key.Value, c)
		if on {
			action, tools = permission.Allow, c.Allow
		}
		var rules Clause
		for _, tool := range tools {
			if on && off[tool] && (len(tools) > 1 || dialect.OpencodeWriters[key.Value] && key.Value != "write") { // "edit: true" is no "write: true"
				continue
			}
			r := p.rule(key, tool, action)
			if c.Only != "" {
				r.Pattern = c.Only
			}
			rules = append(rules, r)
		}
		if len(rules) > 0 {
			clauses = append(clauses, rules)
		}
	}
	return clauses
}

// switched returns the tools that a name in opencode's map switches off. As in
// opencode, one tool that writes means all of them.
func switched(name string, c dialect.Counterpart) []string {
	if dialect.OpencodeWriters[name] {
		return toolcatalog.Writers
	}
	return c.Deny
}
