package definition

import (
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/mcpconfig"
)

// servers reads the MCP servers that a file names or has. A server of a file in the workspace
// is the repository's: a person has to trust it before it runs.
func (p *parser) servers(d *Definition, e agentfile.Entry) {
	d.Fields = append(d.Fields, OtherField{Name: e.Key, Line: e.Line, Column: e.Column, node: e.Node})
	if e.Node == nil || agentfile.IsNull(e.Node) {
		return
	}
	selected, err := mcpconfig.Select(e.Node)
	if err != nil {
		p.Report(diag.FieldType, e.Line, e.Column, "write names of configured servers, or servers as .mcp.json has them", "%s: %v; such a server is left out", e.Key, err)
	}
	for _, s := range selected.Inline {
		s.File, s.Repository = p.File, !p.outside
	}
	d.Servers = selected
}
