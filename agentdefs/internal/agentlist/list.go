package agentlist

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// Entry is one agent in a file of several.
type Entry struct {
	Key  string // where it stands: "agent.reviewer"
	Name string // as the file calls it; not empty

	// Fields are the agent's fields. nil: the value is no mapping, or the name is there twice, so
	// the author's wish is not known.
	Fields       *yaml.Node
	Line, Column int // of its name

	// File is the path of the file that has the fields, relative to that of the list. Empty means
	// that Fields has them.
	File string
}

// maxEntries is how many agents one file may have.
const maxEntries = 1000

// Read returns the agents of a file, and reports faults to p. false: the file can't be read, and
// its agents are not known.
func Read(p *agentfile.Reader, form dialect.Form, data []byte) (entries []Entry, ok bool) {
	switch form {
	case dialect.OpencodeList:
		root, _ := p.Document(data, agentfile.JSONC)
		if root == nil || !isMapping(p, root, "the file") {
			return nil, false
		}
		entries, ok = opencode(p, root)
	case dialect.CodexList:
		root, text := p.Document(data, agentfile.TOML)
		if root == nil {
			return nil, false
		}
		entries, ok = codex(root, text), true
	case dialect.ModeList:
		root, _ := p.Document(data, modesSyntax)
		if root == nil {
			return nil, false
		}
		entries, ok = modes(p, root)
	}
	if len(entries) > maxEntries {
		p.Refuse(diag.FolderTooLarge, 1, 0, "divide it", "the file has more than %d agents", maxEntries)
		return nil, false
	}
	return once(p, entries), ok
}

// modesSyntax is YAML, or JSON.
func modesSyntax(text string) (*yaml.Node, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return agentfile.JSONC(text)
	}
	return agentfile.YAML(text)
}

// once makes one of agents that are there twice, whose fields are not known.
func once(p *agentfile.Reader, in []Entry) (out []Entry) {
	at := make(map[string]int, len(in))
	for _, e := range in {
		i, twice := at[e.Name]
		if !twice {
			at[e.Name] = len(out)
			out = append(out, e)
			continue
		}
		out[i].Fields, out[i].File = nil, ""
		p.Report(diag.NameDuplicate, e.Line, e.Column, "keep one of them", "%q is in line %d too, and which one counts is not clear; neither is served", e.Name, out[i].Line)
	}
	return out
}

// isMapping reports whether n is an object; else the file is refused.
func isMapping(p *agentfile.Reader, n *yaml.Node, what string) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	p.Refuse(diag.PermissionInvalid, n.Line, n.Column, "correct it", "%s is not a mapping of names to values, so nothing of it is served", what)
	return false
}

// pairs calls yield for each name and value of a mapping.
func pairs(n *yaml.Node, yield func(name, value *yaml.Node)) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		yield(n.Content[i], n.Content[i+1])
	}
}

// find returns the last value of a name in a mapping; nil means there is none.
func find(n *yaml.Node, name string) (key, value *yaml.Node) {
	pairs(n, func(k, v *yaml.Node) {
		if k.Value == name {
			key, value = k, v
		}
	})
	return key, value
}

// scalar is a text at the place of n.
func scalar(n *yaml.Node, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: n.Line, Column: n.Column}
}

// text is the value of a scalar, and "" for anything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || agentfile.IsNull(n) {
		return ""
	}
	return strings.TrimSpace(n.Value)
}
