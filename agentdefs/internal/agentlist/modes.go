package agentlist

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/permission"
)

// groups are the tools of a mode's groups, by their names here. What a mode may always do is in
// always.
var groups = map[string][]string{
	"read":    {"read_file", "grep", "glob", "list_dir"},
	"command": {"shell_exec"},
	"browser": {"browser"},
}

var always = []string{"task", "ask_user", "todo", "skill"}

// modes reads customModes of .roomodes.
func modes(p *agentfile.Reader, root *yaml.Node) (entries []Entry, ok bool) {
	key, list := find(root, "customModes")
	switch {
	case key == nil || agentfile.IsNull(list):
		return nil, true
	case list.Kind != yaml.SequenceNode:
		p.Refuse(diag.PermissionInvalid, list.Line, list.Column, "write a list of modes", "customModes is not a list, so nothing of the file is served")
		return nil, false
	}
	for i, item := range list.Content {
		at, slug := find(item, "slug")
		name := text(slug)
		if name == "" {
			p.Report(diag.NameInvalid, item.Line, item.Column, "give it a slug", "a mode has no slug, so it has no name")
			continue
		}
		e := Entry{Key: fmt.Sprintf("customModes[%d]", i), Name: name, Line: at.Line, Column: at.Column}
		e.Fields = mode(p, item, name)
		entries = append(entries, e)
	}
	return entries, true
}

// mode returns the fields of the agent that a mode is.
func mode(p *agentfile.Reader, item *yaml.Node, name string) *yaml.Node {
	fields := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: item.Line, Column: item.Column}
	put := func(at *yaml.Node, name string, value *yaml.Node) {
		fields.Content = append(fields.Content, scalar(at, name), value)
	}
	at, role := find(item, "roleDefinition")
	if at == nil {
		at, role = item, scalar(item, "")
	}
	summary, _, _ := strings.Cut(text(role), ". ")
	described := scalar(role, summary)
	for _, field := range []string{"description", "whenToUse"} { // the last one is for who chooses
		if _, v := find(item, field); text(v) != "" {
			described = v
		}
	}
	put(described, "description", described)
	prompt := text(role)
	if _, more := find(item, "customInstructions"); text(more) != "" {
		prompt = strings.TrimSpace(prompt + "\n\n" + text(more))
	}
	put(at, "prompt", scalar(at, prompt))
	gkey, list := find(item, "groups")
	if gkey == nil {
		gkey, list = item, &yaml.Node{Kind: yaml.SequenceNode, Line: item.Line, Column: item.Column}
	}
	tools, rules := rights(p, name, list)
	put(gkey, "tools", tools)
	if rules != nil {
		put(gkey, "permission", rules)
	}
	return fields
}

// rights returns the tools of groups, and rules for what no list of tools can say. A value that
// can't be read grants nothing.
func rights(p *agentfile.Reader, name string, list *yaml.Node) (tools, rules *yaml.Node) {
	tools = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: list.Line, Column: list.Column}
	rules = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: list.Line, Column: list.Column}
	for _, tool := range always {
		tools.Content = append(tools.Content, scalar(list, tool))
	}
	if list.Kind != yaml.SequenceNode {
		if !agentfile.IsNull(list) {
			p.Report(diag.ToolUnknown, list.Line, list.Column, "write a list of groups", "%s: groups is not a list, so it grants nothing", name)
		}
		return tools, nil
	}
	for _, item := range list.Content {
		group, options, ok := groupOf(item)
		if !ok {
			p.Report(diag.ToolUnknown, item.Line, item.Column, "write edit, or [edit, {fileRegex: PATTERN}]",
				"%s: the group is not a word, and not a word and one mapping, so it grants nothing", name)
			continue
		}
		switch word := text(group); {
		case word == "edit":
			paths := editable(p, name, options)
			if paths == nil {
				continue
			}
			for _, tool := range []string{"write_file", "edit_file"} {
				allowed := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: group.Line, Column: group.Column}
				for _, path := range paths {
					allowed.Content = append(allowed.Content, quoted(group, path), scalar(group, permission.Allow.String()))
				}
				rules.Content = append(rules.Content, scalar(group, tool), allowed)
			}
		case word == "mcp":
			rules.Content = append(rules.Content, quoted(group, dialect.OtherTools), scalar(group, permission.Allow.String()))
		case groups[word] != nil:
			for _, tool := range groups[word] {
				tools.Content = append(tools.Content, scalar(group, tool))
			}
		default:
			tools.Content = append(tools.Content, scalar(group, word))
		}
	}
	if len(rules.Content) == 0 {
		rules = nil
	}
	return tools, rules
}

// groupOf returns the name of a group and its options; nil means it has none. false: it is neither a word nor a
// word with a mapping.
func groupOf(item *yaml.Node) (group, options *yaml.Node, ok bool) {
	if item.Kind == yaml.SequenceNode {
		if len(item.Content) != 2 || item.Content[1].Kind != yaml.MappingNode {
			return nil, nil, false
		}
		item, options = item.Content[0], item.Content[1]
	}
	return item, options, text(item) != ""
}

// editable returns patterns for the paths that a group edit with these options may write. It reports options
// that are not clear, and returns none for them.
func editable(p *agentfile.Reader, name string, options *yaml.Node) (paths []string) {
	paths = []string{"*"}
	var regex *yaml.Node
	pairs(options, func(key, value *yaml.Node) {
		var fault, fix string
		switch {
		case key.Value == "description":
		case key.Value != "fileRegex":
			fault, fix = fmt.Sprintf("%q is unknown in the options of edit", key.Value), "write fileRegex, description, or neither"
		case regex != nil:
			fault, fix = "fileRegex is there twice", "keep one of them"
		default:
			regex = value
			if globs := fileGlobs(text(value)); globs == nil {
				fault, fix = fmt.Sprintf("the fileRegex %q can't be written as patterns here", text(value)), "write it with literals, . and *, and alternatives"
			} else if paths != nil {
				paths = globs
			}
		}
		if fault != "" {
			paths = nil
			p.Report(diag.ToolUnknown, key.Line, key.Column, fix, "%s: %s, so the mode may write no file", name, fault)
		}
	})
	return paths
}

// quoted is a text in quotes at the place of n.
func quoted(n *yaml.Node, text string) *yaml.Node {
	out := scalar(n, text)
	out.Style = yaml.DoubleQuotedStyle
	return out
}
