package access

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/permission"
)

// permission reads the compact format, in our tool names or those of another
// tool, a pair at a time and in file order.
func (p *Reader) permission(e agentfile.Entry) []Clause {
	const fix = "write a mapping such as {\"*\": deny, read_file: allow}, with allow, deny or ask"
	n := e.Node
	switch {
	case n == nil || agentfile.IsNull(n) || agentfile.IsTagged(n):
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, fix, "%s cannot be read, so nothing of this file is served", e.Key)
		return nil
	case n.Kind == yaml.ScalarNode: // opencode's short form
		n = mapping(n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "*", Line: n.Line, Column: n.Column}, n)
	case n.Kind == yaml.SequenceNode && p.Dialect.PlainPatterns:
		return p.ruleList(e)
	case n.Kind != yaml.MappingNode:
		p.Refuse(diag.PermissionInvalid, n.Line, n.Column, fix, "%s is not a mapping of tools to actions", e.Key)
		return nil
	}
	return p.permissionBlock(e, n, deniedWriters(n))
}

// permissionBlock reads the mapping n of a permission. denied are the names for writing that all of
// the permission denies as a whole.
func (p *Reader) permissionBlock(e agentfile.Entry, n *yaml.Node, denied map[string]bool) []Clause {
	var clauses, outside []Clause
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || seen[key.Value] || key.Value == "<<" {
			p.Refuse(diag.PermissionInvalid, key.Line, key.Column, "write each tool once", "%s: %q cannot be read as a tool that is named once", e.Key, key.Value)
			continue
		}
		seen[key.Value] = true
		if twice := repeated(value); twice != nil {
			p.Refuse(diag.PermissionInvalid, twice.Line, twice.Column, "write each pattern once", "%s: the pattern %q of %s is written twice", e.Key, twice.Value, key.Value)
			continue
		}
		if key.Value == "external_directory" {
			outside = append(outside, p.externalDirectory(key, value))
			continue
		}
		c, kind := dialect.Translate(key.Value)
		switch own := dialect.NearOwnTool(key.Value); {
		case kind == dialect.AbsentTool:
			p.Report(diag.ToolNoCounterpart, key.Line, key.Column, "", "%s has no counterpart here; its rule is kept as written", key.Value)
		case kind == dialect.UnknownTool && !spelling.IsASCII(key.Value):
			p.Refuse(diag.PermissionInvalid, key.Line, key.Column, "write it in plain letters", "%s: no tool has such a name as %s", e.Key, spelling.Visible(key.Value))
		case kind == dialect.UnknownTool && own != "":
			p.Report(diag.ToolUnknown, key.Line, key.Column, "write "+own+" if that is meant", "%s is not a built-in tool here; its rule is kept as written", key.Value)
		}
		value = p.literal(value)
		first := len(clauses)
		for _, name := range c.Deny {
			k := *key
			k.Value, k.Style = name, yaml.DoubleQuotedStyle
			set, err := permission.ParseYAML(mapping(n, &k, value), p.File, &permission.ParseOptions{Home: p.Home})
			if err != nil {
				p.refusePermission(key, err)
				break
			}
			at := first
			for r := range set.Rules() { // the same patterns for each of the tools
				if at == len(clauses) {
					clauses = append(clauses, nil)
				}
				if r, ok := limitTo(c, r); ok && (r.Action == permission.Deny || !liftsOther(denied, key.Value, name)) {
					clauses[at] = append(clauses[at], r)
					clauses[at] = append(clauses[at], alsoLiteral(r)...)
					if bare, ok := strings.CutSuffix(r.Pattern, " *"); ok && p.Dialect.PlainPatterns { // opencode's star takes the blank with it
						r.Pattern = bare
						clauses[at] = append(clauses[at], r)
					}
				}
				at++
			}
		}
	}
	clauses = append(clauses, outside...)
	return slices.DeleteFunc(clauses, func(c Clause) bool { return len(c) == 0 })
}

// mapping is a mapping of one pair at the place of n.
func mapping(n, key, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{key, value}}
}

// repeated returns a key that the mapping n has twice, or nil.
func repeated(n *yaml.Node) *yaml.Node {
	seen := map[string]bool{}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; seen[key.Value] {
			return key
		}
		seen[n.Content[i].Value] = true
	}
	return nil
}

// deniedWriters returns those of opencode's names for writing that the
// permission block n denies as a whole.
func deniedWriters(n *yaml.Node) map[string]bool {
	denied := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key, value := n.Content[i].Value, n.Content[i+1]; dialect.OpencodeWriters[key] && value.Kind == yaml.ScalarNode && value.Value == permission.Deny.String() {
			denied[key] = true
		}
	}
	return denied
}

// liftsOther reports whether what key says of tool would lift what another name
// for it denies. opencode treats all of them as one.
func liftsOther(denied map[string]bool, key, tool string) bool {
	if !dialect.OpencodeWriters[key] {
		return false
	}
	for other := range denied {
		if c, _ := dialect.Translate(other); other != key && slices.Contains(c.Deny, tool) {
			return true
		}
	}
	return false
}

// limitTo returns r as far as c's name is about it; false: not at all.
func limitTo(c dialect.Counterpart, r permission.Rule) (permission.Rule, bool) {
	if r.Action != permission.Deny && !slices.Contains(c.Allow, r.Tool) {
		return r, false
	}
	if c.Only != "" {
		switch {
		case r.Pattern == Anything:
			r.Pattern = c.Only
		case r.Action == permission.Allow && !strings.HasSuffix(r.Pattern, strings.TrimPrefix(c.Only, Anything)):
			return r, false
		}
	}
	return r, true
}
