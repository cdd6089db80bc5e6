package access

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// ExactID is the spelling of tools of which every name has to be a tool.
const ExactID = "allowedTools"

// exact refuses a file whose allowedTools name what is no tool anywhere. Those of an MCP
// server are known by the form of their names, since the server may come later.
func (p *Reader) exact(e agentfile.Entry, specs []toolSpec) {
	if e.Key != ExactID || p.Dialect.Asks {
		return
	}
	for _, s := range specs {
		if _, kind := dialect.LookUp(s.name); s.name == "*" || kind != dialect.UnknownTool {
			continue
		}
		p.Refuse(diag.PermissionInvalid, s.at.Line, s.at.Column, "use "+strings.Join(toolcatalog.Rules, ", ")+", or mcp__server__tool; tools takes other names, and passes over them",
			"%s: there is no tool %q%s, and nothing of this file is served", e.Key, spelling.Short(s.text), suggest.DidYouMean(s.name, toolcatalog.Rules))
	}
}

// tools turns a list of tools into an allow-list: deny all, then allow each.
func (p *Reader) tools(e agentfile.Entry) []Clause {
	if !isToolList(e) {
		return p.toolSwitches(e)
	}
	specs, ok := p.toolList(e, false)
	if !ok {
		return nil
	}
	p.exact(e, specs)
	clauses := []Clause{{p.rule(&yaml.Node{Line: e.Line, Column: e.Column}, "*", permission.Deny)}}
	var unknown []toolSpec
	for _, s := range specs {
		if _, kind := dialect.LookUp(s.name); kind == dialect.UnknownTool && s.name != "*" {
			unknown = append(unknown, s)
			p.named(s.text, nil)
			continue
		}
		if c := p.allow(s, specs); len(c) > 0 {
			clauses = append(clauses, c)
		}
	}
	p.unknownTools(unknown)
	if len(specs) > 0 && len(clauses) == 1 {
		p.Report(diag.ToolsNoneRecognized, e.Line, e.Column, "name at least one of "+strings.Join(toolcatalog.Rules, ", "), "none of the names in %s is a tool here; it allows none", e.Key)
	}
	return clauses
}

// isToolList reports whether e is a list of tools, and not opencode's mapping.
func isToolList(e agentfile.Entry) bool { return e.Node == nil || e.Node.Kind != yaml.MappingNode }

// disallowedTools turns a list of tools into deny rules.
func (p *Reader) disallowedTools(e agentfile.Entry) []Clause {
	specs, _ := p.toolList(e, true) // each word may be meant
	var clauses []Clause
	for _, s := range specs {
		clauses = append(clauses, p.deny(s))
	}
	return clauses
}
