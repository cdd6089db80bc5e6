package agentdefs

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// access gathers the fields of a file that decide what its agent may do.
type access struct {
	fields      map[fieldID]entry
	disabled    bool // the file switches its agent off
	noModelCall bool // no model may call it
}

func (a *access) add(e entry) {
	if a.fields == nil {
		a.fields = map[fieldID]entry{}
	}
	a.fields[e.id] = e
}

// ruleset makes the agent's rules: what tools allows, then permission, then
// what only takes away. nil, and reported: one of them cannot be read exactly.
// A file that says nothing gets no rules: the user's decide, and what none of
// those names is asked about.
//
// A subagent gets "task: deny" last. An agent that may be a primary does not:
// that is for calling task. Where it is run as a child, the task tool adds it.
func (p *parser) ruleset(a *access, mode Mode) *permission.Ruleset {
	var listed []clause
	if e, ok := a.fields[fieldTools]; ok {
		listed = p.tools(e)
		if p.dialect.asks && e.key == "tools" {
			listed = p.asked(listed, a.fields)
		}
	}
	clauses := slices.Clip(listed)
	if e, ok := a.fields[fieldPermission]; ok {
		clauses = append(clauses, p.permission(e)...)
	}
	if e, ok := a.fields[fieldDisallowedTools]; ok {
		clauses = append(clauses, p.disallowedTools(e)...)
	}
	p.checkShadows(clauses, len(listed), a.fields[fieldTools].lists())
	rules := []permission.Rule(slices.Concat(clauses...))
	for _, id := range []fieldID{fieldPermissionMode, fieldApprovalMode} {
		if e, ok := a.fields[id]; ok {
			rules = p.permissionMode(e, rules)
		}
	}
	if e, ok := a.fields[fieldSandboxMode]; ok {
		rules = p.sandboxMode(e, rules)
	}
	if e, ok := a.fields[fieldReadonly]; ok {
		rules = p.readonly(e, rules)
	}
	if e, ok := a.fields[fieldAgents]; ok && !p.everyAgent(e) {
		rules = append(rules, p.rule(e.node, "task", permission.Deny))
	}
	if !p.opts.Nesting && mode == Subagent {
		rules = append(rules, permission.Rule{
			Tool: "task", Pattern: anything, Action: permission.Deny, Source: permission.Source{File: sourceBuiltin},
		})
	}
	if p.refused {
		return nil
	}
	set, err := permission.NewRuleset(rules...)
	if err != nil {
		p.refusePermission(&yaml.Node{Line: 1}, err)
		return nil
	}
	return set
}

// sourceBuiltin is the file of a rule that no file has.
const sourceBuiltin = "built in"

// anything is the pattern of a rule that holds for every value of its tool.
const anything = "*"

// rule is a rule about the whole of a tool that stands at n.
func (p *parser) rule(n *yaml.Node, tool string, action permission.Action) permission.Rule {
	r := permission.Rule{Tool: tool, Pattern: anything, Action: action, Source: permission.Source{File: p.file}}
	if n != nil {
		r.Source.Line, r.Source.Column = n.Line, n.Column
	}
	return r
}

// permission reads the compact format, in our tool names or those of another
// tool, a pair at a time and in file order.
func (p *parser) permission(e entry) []clause {
	const fix = "write a mapping such as {\"*\": deny, read_file: allow}, with allow, deny or ask"
	n := e.node
	switch {
	case n == nil || isNull(n) || tagged(n):
		p.refuse(codePermissionInvalid, e.line, e.column, fix, "%s cannot be read, so nothing of this file is served", e.key)
		return nil
	case n.Kind == yaml.ScalarNode: // opencode's short form
		n = mapping(n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "*", Line: n.Line, Column: n.Column}, n)
	case n.Kind != yaml.MappingNode:
		p.refuse(codePermissionInvalid, n.Line, n.Column, fix, "%s is no mapping of tools to actions", e.key)
		return nil
	}
	var clauses, outside []clause
	seen := map[string]bool{}
	denied := deniedWriters(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || seen[key.Value] || key.Value == "<<" {
			p.refuse(codePermissionInvalid, key.Line, key.Column, "write each tool once", "%s: %q cannot be read as a tool that is named once", e.key, key.Value)
			continue
		}
		seen[key.Value] = true
		if twice := repeated(value); twice != nil {
			p.refuse(codePermissionInvalid, twice.Line, twice.Column, "write each pattern once", "%s: the pattern %q of %s is written twice", e.key, twice.Value, key.Value)
			continue
		}
		if key.Value == "external_directory" {
			outside = append(outside, p.externalDirectory(key, value))
			continue
		}
		c, kind := translate(key.Value)
		switch own := nearOwnTool(key.Value); {
		case kind == toolAbsent:
			p.report(codeToolNoCounterpart, key.Line, key.Column, "", "%s has no counterpart here; its rule is kept as written", key.Value)
		case kind == toolUnknown && !ascii(key.Value):
			p.refuse(codePermissionInvalid, key.Line, key.Column, "write it in plain letters", "%s: no tool has such a name as %s", e.key, shownKey(key.Value))
		case kind == toolUnknown && own != "":
			p.report(codeToolUnknown, key.Line, key.Column, "write "+own+" if that is meant", "%s is not a built-in tool here; its rule is kept as written", key.Value)
		}
		value = p.literal(value)
		first := len(clauses)
		for _, name := range c.deny {
			k := *key
			k.Value, k.Style = name, yaml.DoubleQuotedStyle
			set, err := permission.ParseYAML(mapping(n, &k, value), p.file, &permission.ParseOptions{Home: p.opts.Home})
			if err != nil {
				p.refusePermission(key, err)
				break
			}
			at := first
			for r := range set.Rules() { // the same patterns for each of the tools
				if at == len(clauses) {
					clauses = append(clauses, nil)
				}
				if r, ok := c.limit(r); ok && (r.Action == permission.Deny || !liftsOther(denied, key.Value, name)) {
					clauses[at] = append(clauses[at], r)
					clauses[at] = append(clauses[at], alsoLiteral(r)...)
					if bare, ok := strings.CutSuffix(r.Pattern, " *"); ok && p.dialect.plain { // opencode's star takes the blank with it
						r.Pattern = bare
						clauses[at] = append(clauses[at], r)
					}
				}
				at++
			}
		}
	}
	clauses = append(clauses, outside...)
	return slices.DeleteFunc(clauses, func(c clause) bool { return len(c) == 0 })
}

// mapping is a mapping of one pair at the place of n.
func mapping(n, key, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{key, value}}
}

// repeated returns a key of the mapping n that is there already; nil: none.
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

// tagged reports whether a tag inside of n gives a value another meaning than
// its text has.
func tagged(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle != 0 {
		return true
	}
	for _, c := range n.Content {
		if tagged(c) {
			return true
		}
	}
	return false
}

// readonly makes rules those of an agent that changes nothing: no writing, and
// no command without a question. It takes away only, whatever rules said.
func (p *parser) readonly(e entry, rules []permission.Rule) []permission.Rule {
	value, ok := p.boolOf(e)
	if !ok {
		p.refuse(codePermissionInvalid, e.line, e.column, "write true or false", "%s cannot be read, so nothing of this file is served", e.key)
		return rules
	}
	if !value {
		return rules
	}
	return p.changesNothing(e.node, rules)
}

// changesNothing is readonly for rules; at is where it is asked for.
func (p *parser) changesNothing(at *yaml.Node, rules []permission.Rule) []permission.Rule {
	out := []permission.Rule{p.rule(at, "shell_exec", permission.Ask)}
	for _, r := range rules {
		if r.Action != permission.Allow {
			out = append(out, r)
			continue
		}
		asked := r
		asked.Tool, asked.Action = "shell_exec", permission.Ask
		tools, err := glob.Compile(r.Tool)
		switch {
		case r.Tool == "shell_exec":
			out = append(out, asked)
		case err != nil: // the ruleset is refused for it
			out = append(out, r)
		case tools.Match("shell_exec"):
			out = append(out, r, asked)
		default:
			out = append(out, r)
		}
	}
	return append(out, p.rule(at, "write_file", permission.Deny), p.rule(at, "edit_file", permission.Deny))
}

// everyAgent reports whether a list of agents to call, which Copilot's files
// have, leaves them all open. What it lists cannot be kept to here, so anything
// else means none.
func (p *parser) everyAgent(e entry) bool {
	if e.node != nil && e.node.Kind == yaml.SequenceNode {
		for _, n := range e.node.Content {
			if n.Kind == yaml.ScalarNode && n.Value == "*" {
				return true
			}
		}
	}
	p.report(codeFieldUnsupported, e.line, e.column, "limit them with permission: {task: {\"*\": deny, name: allow}}", "%s has no meaning here; the agent may call no other", e.key)
	return false
}
