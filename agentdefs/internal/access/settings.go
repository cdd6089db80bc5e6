package access

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/permission"
)

// Lists returns the rules of lists of Claude Code's settings: what ask has is asked about, and what
// deny has is denied. An item that can't be read exactly is about all of its tool, and one that
// names no tool about all tools.
func (p *Reader) Lists(ask, deny *yaml.Node) (rules []permission.Rule) {
	for _, of := range []struct {
		list   *yaml.Node
		action permission.Action
	}{{ask, permission.Ask}, {deny, permission.Deny}} { // what is denied comes last, and wins
		if of.list == nil {
			continue
		}
		items := of.list.Content
		if of.list.Kind != yaml.SequenceNode {
			items = []*yaml.Node{of.list}
		}
		for _, item := range items {
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
