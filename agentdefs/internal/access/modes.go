package access

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// modes says what the words of permissionMode, and of Qwen's approvalMode, do. They are in
// small letters, since files have Plan as well. bubble hands questions to the caller, as is
// done anyway. plan lets an agent explore, with commands too: the sandbox holds them to its
// rules about files. delegate leaves an agent the tools that coordinate others.
var modes = map[string]modeEffect{
	"": modeNone, "default": modeNone, "manual": modeNone, "ask": modeNone, "bubble": modeNone,
	"plan": modeReadOnly, "delegate": modeDelegate, "dontask": modeDontAsk,
	"acceptedits": modeWidens, "auto": modeWidens, "bypasspermissions": modeWidens,
	"auto-edit": modeWidens, "auto_edit": modeWidens, "autoedit": modeWidens, "yolo": modeWidens,
}

type modeEffect int

const (
	modeUnknown modeEffect = iota
	modeNone
	modeReadOnly // as readonly
	modeDelegate // no writing and no commands
	modeDontAsk  // what would be asked about is denied
	modeWidens   // is reported and changes nothing
)

// permissionMode applies the mode of a Claude Code or Qwen file.
func (p *Reader) permissionMode(e agentfile.Entry, rules []permission.Rule) []permission.Rule {
	effect, mode, at := modeUnknown, "", e.Node
	if at != nil && at.Kind == yaml.ScalarNode && !agentfile.IsTagged(at) {
		mode = strings.TrimSpace(at.Value)
		effect = modes[strings.ToLower(mode)]
	}
	switch effect {
	case modeReadOnly:
		return p.changesNothing(at, rules)
	case modeDelegate:
		for _, tool := range []string{toolcatalog.WriteFile, toolcatalog.EditFile, toolcatalog.ShellExec} {
			rules = append(rules, p.rule(at, tool, permission.Deny))
		}
	case modeDontAsk:
		out := []permission.Rule{p.rule(at, "*", permission.Deny)}
		for _, r := range rules {
			if r.Action == permission.Ask {
				r.Action = permission.Deny
			}
			out = append(out, r)
		}
		return out
	case modeWidens:
		p.Report(diag.PermissionWidening, e.Line, e.Column, "remove it; the permissions of the workspace decide", "%s: %s would let the agent do more, and is ignored", e.Key, mode)
	case modeUnknown:
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "use default, ask, plan, delegate or dontAsk", "%s %s is not known, so nothing of this file is served", e.Key, shownMode(at))
	}
	return rules
}

// shownMode quotes a mode for an error.
func shownMode(at *yaml.Node) string {
	if at == nil || at.Kind != yaml.ScalarNode {
		return "is no word and"
	}
	return strconv.Quote(termtext.OneLine(at.Value, termtext.MaxName))
}

// sandboxMode applies Codex's: read-only is readonly, workspace-write denies writing outside
// of the workspace. The sandbox holds commands to both, since it is made from these rules.
func (p *Reader) sandboxMode(e agentfile.Entry, rules []permission.Rule) []permission.Rule {
	mode := ""
	if e.Node != nil && e.Node.Kind == yaml.ScalarNode && !agentfile.IsTagged(e.Node) {
		mode = e.Node.Value
	}
	switch mode {
	case "read-only":
		return p.changesNothing(e.Node, rules)
	case "workspace-write":
		for _, tool := range toolcatalog.Writers {
			r := p.rule(e.Node, tool, permission.Deny)
			r.Pattern = outsideFiles
			rules = append(rules, r)
		}
	case "danger-full-access":
		p.Report(diag.PermissionWidening, e.Line, e.Column, "remove it; the permissions of the workspace decide", "%s: %s would let the agent do more, and is ignored", e.Key, mode)
	default:
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "use read-only or workspace-write", "%s is none that is known, so nothing of this file is served", e.Key)
	}
	return rules
}

// readonly makes rules those of an agent that changes nothing: no writing, and
// no command without a question. It takes away only, whatever rules said.
func (p *Reader) readonly(e agentfile.Entry, rules []permission.Rule) []permission.Rule {
	value, ok := p.Bool(e)
	if !ok {
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write true or false", "%s cannot be read, so nothing of this file is served", e.Key)
		return rules
	}
	if !value {
		return rules
	}
	return p.changesNothing(e.Node, rules)
}

// changesNothing is readonly for rules; at is where it is asked for.
func (p *Reader) changesNothing(at *yaml.Node, rules []permission.Rule) []permission.Rule {
	out := []permission.Rule{p.rule(at, toolcatalog.ShellExec, permission.Ask)}
	for _, r := range rules {
		if r.Action != permission.Allow {
			out = append(out, r)
			continue
		}
		asked := r
		asked.Tool, asked.Action = toolcatalog.ShellExec, permission.Ask
		tools, err := glob.Compile(r.Tool)
		switch {
		case r.Tool == "shell_exec":
			out = append(out, asked)
		case err != nil: // the ruleset is refused for it
			out = append(out, r)
		case tools.Match(toolcatalog.ShellExec):
			out = append(out, r, asked)
		default:
			out = append(out, r)
		}
	}
	return append(out, p.rule(at, toolcatalog.WriteFile, permission.Deny), p.rule(at, toolcatalog.EditFile, permission.Deny))
}

// EveryAgent reports whether a list of agents to call, which Copilot's files
// have, allows them all.
func EveryAgent(e agentfile.Entry) bool {
	if e.Node != nil && e.Node.Kind == yaml.SequenceNode {
		for _, n := range e.Node.Content {
			if n.Kind == yaml.ScalarNode && n.Value == "*" {
				return true
			}
		}
	}
	return false
}

// noAgents denies what a list of agents to call may mean that can't be read.
func (p *Reader) noAgents(e agentfile.Entry) permission.Rule {
	p.Report(diag.FieldUnsupported, e.Line, e.Column, "write a list of names, as in agents: [explore, general]", "%s is not a list of names; the agent may call no other", e.Key)
	return p.rule(e.Node, "task", permission.Deny)
}

// outsideFiles matches every file outside of the workspace, whose values begin
// with a slash, and, since the pattern does not, none within it.
const outsideFiles = `\/**`
