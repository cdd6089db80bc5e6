package access

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// Lists returns the rules of lists of Claude Code's settings: what ask has is asked about, and what
// deny has is denied. An item that can't be read exactly is about all of its tool, and one that
// names no tool about all tools.
func (p *Reader) Lists(ask, deny *yaml.Node) (rules []permission.Rule) {
	for _, of := range []struct {
		list   *yaml.Node
		action permission.Action
	}{{ask, permission.Ask}, {deny, permission.Deny}} { // what is denied comes last, and wins
		for _, item := range items(of.list) {
			for _, r := range p.listed(item) {
				r.Action = of.action
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// listed returns the rules that deny what an item of a list names.
func (p *Reader) listed(item *yaml.Node) Clause {
	var specs []toolSpec
	if item.Kind == yaml.ScalarNode {
		specs, _ = splitSpecs(item.Value, item, false)
	}
	if len(specs) == 1 {
		if rules := p.deny(specs[0]); !p.Refused {
			return rules
		}
	}
	p.Refused = false
	tool := Anything
	name, _, _ := strings.Cut(item.Value, "(")
	if c, kind := dialect.LookUp(strings.TrimSpace(name)); kind == dialect.OwnTool && len(c.Deny) == 1 {
		tool = c.Deny[0]
	}
	p.Report(diag.PermissionInvalid, item.Line, item.Column, "write it as Bash(git push *)", "%q can't be read exactly, so it is about all of the tool %s", item.Value, tool)
	return Clause{p.rule(item, tool, permission.Deny)}
}

// Block returns the rules of the field permission in opencode's settings. One that can't be
// read exactly denies everything.
func (p *Reader) Block(e agentfile.Entry) (rules []permission.Rule) {
	clauses := p.permission(e)
	if p.Refused {
		p.Refused = false
		return []permission.Rule{p.rule(e.Node, Anything, permission.Deny)}
	}
	for _, c := range clauses {
		rules = append(rules, c...)
	}
	return rules
}

// Allowed returns the rules of the list allow in Claude Code's settings. An item that can't be
// read exactly allows nothing.
func (p *Reader) Allowed(list *yaml.Node) (rules []permission.Rule) {
	for _, item := range items(list) {
		var specs []toolSpec
		ok := item.Kind == yaml.ScalarNode
		if ok {
			specs, ok = splitSpecs(item.Value, item, false)
		}
		if !ok || len(specs) != 1 || specs[0].name == "*" {
			p.Report(diag.PermissionInvalid, item.Line, item.Column, "write it as Bash(git push *)", "%q can't be read exactly, so it allows nothing", item.Value)
			continue
		}
		rules = append(rules, p.allow(specs[0], specs)...)
	}
	return rules
}

// Folders returns the rules of additionalDirectories in Claude Code's settings: files in them may be
// read. Folders are relative to root.
func (p *Reader) Folders(list *yaml.Node, root string) (rules []permission.Rule) {
	for _, item := range items(list) {
		dir := item.Value
		if below, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(p.Home, below)
		} else if dir == "~" {
			dir = p.Home
		} else if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if item.Kind != yaml.ScalarNode || item.Value == "" || strings.ContainsAny(item.Value, "*?[]{}$\x00\n") || !filepath.IsAbs(dir) {
			p.Report(diag.PermissionInvalid, item.Line, item.Column, "write the path of a folder", "%q is not one folder, so nothing in it may be read", item.Value)
			continue
		}
		dir = glob.Quote(strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/"))
		for _, pattern := range []string{dir, dir + "/**"} {
			r := p.rule(item, toolcatalog.ReadFile, permission.Allow)
			if r.Pattern = pattern; pattern != "" {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// items returns the items of a list; what is no list is its own item.
func items(list *yaml.Node) []*yaml.Node {
	switch {
	case list == nil:
		return nil
	case list.Kind != yaml.SequenceNode:
		return []*yaml.Node{list}
	}
	return list.Content
}
