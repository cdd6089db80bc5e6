package agentdefs

import "github.com/agentworker/worker/agentdefs/internal/diag"

// ServerMissing returns a diagnostic about an MCP server, or a language server, that an agent's file
// needs and that does not run.
func ServerMissing(d *Definition, message string) Diagnostic {
	line, column := d.Line, 1
	for _, f := range d.Fields {
		switch f.Name {
		case "mcpServers", "mcp-servers", "mcp_servers":
			line, column = f.Line, f.Column
		}
	}
	return diag.At(d.File, line, column, diag.ServerMissing, "", message)
}

// LanguageServerInvalid returns a diagnostic about a language server of a repository's file that can't be
// read.
func LanguageServerInvalid(file, message string) Diagnostic {
	return diag.At(file, 1, 1, diag.ServerInvalid, "", message)
}
