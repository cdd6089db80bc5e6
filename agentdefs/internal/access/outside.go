package access

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// externalDirectory applies opencode's rule about files outside of the
// workspace. What it allows or asks about changes nothing: rules about the
// workspace's files allow none outside. What it denies holds for file tools,
// and for what commands are known to read and write.
func (p *Reader) externalDirectory(key, value *yaml.Node) Clause {
	type pair struct {
		pattern        string
		at, actionNode *yaml.Node
	}
	pairs := []pair{{Anything, key, value}}
	if value.Kind == yaml.MappingNode {
		pairs = nil
		for i := 0; i+1 < len(value.Content); i += 2 {
			pairs = append(pairs, pair{value.Content[i].Value, value.Content[i], value.Content[i+1]})
		}
	}
	var out Clause
	for _, item := range pairs {
		action, err := permission.ParseAction(item.actionNode.Value)
		if err != nil || item.at.Kind != yaml.ScalarNode || item.actionNode.Kind != yaml.ScalarNode {
			p.Refuse(diag.PermissionInvalid, item.at.Line, item.at.Column, "use allow, ask or deny", "what external_directory says of %q cannot be read exactly, so nothing of this file is served", spelling.Short(item.pattern))
			continue
		}
		if action != permission.Deny {
			if len(pairs) > 1 {
				p.Report(diag.ToolUnknown, item.at.Line, item.at.Column, "write absolute patterns under read_file, write_file and edit_file", "external_directory: what is to be %sed outside of the workspace is left to the other rules", action)
			}
			continue
		}
		patterns := []string{outsideFiles}
		if !Covers(item.pattern, Anything) {
			patterns = []string{quoteButWild(item.pattern), quoteButWild(strings.TrimRight(item.pattern, "/*")) + "/**"}
		}
		for _, tool := range toolcatalog.FileTools {
			for _, pattern := range patterns {
				r := p.rule(item.at, tool, permission.Deny)
				r.Pattern = expandFront(pattern, p.Home)
				out = append(out, r)
			}
		}
	}
	return out
}

// expandFront replaces "~/" or "$HOME/" at the front by the home folder.
func expandFront(pattern, home string) string {
	for _, front := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(pattern, front); ok && home != "" {
			return glob.Quote(strings.TrimSuffix(home, "/")) + "/" + rest
		}
	}
	return pattern
}
