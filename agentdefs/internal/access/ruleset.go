package access

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/permission"
)

// Fields are the fields that decide what an agent may do; nil means the file
// does not have it.
type Fields struct {
	Tools, Permission, DisallowedTools *agentfile.Entry
	PermissionMode, ApprovalMode       *agentfile.Entry // Claude Code's and Qwen Code's
	SandboxMode                        *agentfile.Entry // Codex's
	Readonly, Agents                   *agentfile.Entry
	Preapproved                        *agentfile.Entry // Kiro's allowedTools, beside its tools
}

// Ruleset makes the agent's rules: what tools allows, then permission, then
// what only takes away. nil, and reported: one of them cannot be read exactly.
// A file that says nothing gets no rules: the user's decide, and what none of
// those names is asked about.
//
// A subagent gets "task: deny" last. An agent that may be a primary does not:
// that is for calling task. Where it is run as a child, the task tool adds it.
func (p *Reader) Ruleset(a *Fields, subagent bool) *permission.Ruleset {
	var listed []Clause
	if e := a.Tools; e != nil {
		listed = p.tools(*e)
		if p.Dialect.Asks && e.Key == "tools" {
			listed = p.asked(listed, a.Preapproved)
		}
	}
	clauses := slices.Clip(listed)
	if a.Permission != nil {
		clauses = append(clauses, p.permission(*a.Permission)...)
	}
	if a.DisallowedTools != nil {
		clauses = append(clauses, p.disallowedTools(*a.DisallowedTools)...)
	}
	p.checkPrecedence(clauses, len(listed), a.Tools == nil || isToolList(*a.Tools))
	rules := []permission.Rule(slices.Concat(clauses...))
	for _, e := range []*agentfile.Entry{a.PermissionMode, a.ApprovalMode} {
		if e != nil {
			rules = p.permissionMode(*e, rules)
		}
	}
	if a.SandboxMode != nil {
		rules = p.sandboxMode(*a.SandboxMode, rules)
	}
	if a.Readonly != nil {
		rules = p.readonly(*a.Readonly, rules)
	}
	if a.Agents != nil {
		rules = append(rules, p.noAgents(*a.Agents))
	}
	if !p.Nesting && subagent {
		rules = append(rules, permission.Rule{
			Tool: "task", Pattern: Anything, Action: permission.Deny, Source: permission.Source{File: BuiltIn},
		})
	}
	if p.Refused {
		return nil
	}
	set, err := permission.NewRuleset(rules...)
	if err != nil {
		p.refusePermission(&yaml.Node{Line: 1}, err)
		return nil
	}
	return set
}

// WithoutTools is the permission of an agent in a file that is all frontmatter,
// without a fence, its text in a field. It can be told from the beginning of a
// longer file no more than any other, so whatever rules may be missing, none is
// needed.
func (p *Reader) WithoutTools(set *permission.Ruleset, line int) *permission.Ruleset {
	p.Report(diag.FrontmatterUnclosed, line, 0, "write --- above the first field, and --- below the last",
		"nothing says where the file ends, so rules may be missing from it, and its agent may use no tool")
	rules := slices.Collect(set.Rules())
	deny := permission.Rule{Tool: Anything, Pattern: Anything, Action: permission.Deny, Source: permission.Source{File: p.File, Line: line}}
	at := len(rules)
	if at > 0 && rules[at-1].Action == permission.Deny {
		at-- // the last rule, task: deny, stays the last
	}
	set, err := permission.NewRuleset(slices.Insert(rules, at, deny)...)
	if err != nil {
		p.refusePermission(&yaml.Node{Line: line}, err)
		return nil
	}
	return set
}
