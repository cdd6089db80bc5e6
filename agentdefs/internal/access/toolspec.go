package access

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// toolSpec is one item of a tools or disallowedTools list: Bash(git:*).
type toolSpec struct {
	text   string // as written
	name   string
	args   string // what stands in parentheses
	scoped bool   // there are parentheses that say more than "*"
	opaque bool   // an item that says more than can be read: it grants nothing
	at     *yaml.Node
}

// toolList reads a list of tools: a YAML list, or a text with commas or blanks between
// the names. With eachWord, blanks always separate names. It reports a list that it
// can't read exactly, and returns false.
func (p *Reader) toolList(e agentfile.Entry, eachWord bool) ([]toolSpec, bool) {
	at := &yaml.Node{Line: e.Line, Column: e.Column}
	var specs []toolSpec
	ok := true
	add := func(text string, at *yaml.Node, blanks func(text string) bool) {
		if eachWord {
			blanks = func(string) bool { return true }
		}
		more, fine := splitSpecs(text, at, blanks(text))
		specs, ok = append(specs, more...), ok && fine
	}
	switch n := e.Node; {
	case n == nil:
		items, fine := rawList(e.Raw)
		if ok = fine; ok {
			p.Report(diag.FieldRepaired, e.Line, e.Column, "write "+e.Key+" as a YAML list", "%s is not valid YAML; its names were taken as they stand", e.Key)
		}
		for _, item := range items {
			add(item, at, namesWithBlanks)
		}
	case agentfile.IsTagged(n):
		ok = false
	case agentfile.IsNull(n):
		p.Report(diag.FieldType, e.Line, e.Column, "name tools, or remove the line", "%s is empty, which is taken as a list of none", e.Key)
	case n.Kind == yaml.ScalarNode:
		add(trimPair(strings.TrimSpace(n.Value), "[", "]"), n, namesWithBlanks)
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			switch name := memberName(item); {
			case item.Kind == yaml.ScalarNode:
				add(item.Value, item, func(string) bool { return false })
			case name != "":
				specs = append(specs, toolSpec{text: name, name: name, opaque: len(item.Content) > 2, at: item})
			default:
				ok = false
			}
		}
	default:
		ok = false
	}
	if !ok {
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write a list of tool names: "+e.Key+": [Read, Grep]", "%s cannot be read exactly, so nothing of this file is served", e.Key)
	}
	return specs, ok
}

// memberName returns the name of an item that is a mapping, as some tools write
// theirs.
func memberName(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode {
			return strings.TrimSpace(n.Content[i+1].Value)
		}
	}
	return ""
}

// namesWithBlanks reports whether text is names of tools with blanks between,
// and not one name that has blanks: each word is a known tool, and together they
// are none.
func namesWithBlanks(text string) bool {
	specs, ok := splitSpecs(text, nil, true)
	if !ok || strings.ContainsAny(outsideParens(text), ",\n") {
		return false
	}
	joined := ""
	for _, s := range specs {
		if _, kind := dialect.LookUp(s.name); kind == dialect.UnknownTool && s.name != "*" {
			return false
		}
		joined += s.name
	}
	_, together := dialect.LookUp(joined)
	return len(specs) == 1 || together != dialect.OwnTool && together != dialect.AbsentTool
}

// outsideParens is text without what is in parentheses.
func outsideParens(text string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		default:
			if depth == 0 {
				return r
			}
		}
		return -1
	}, text)
}

// splitSpecs cuts text at commas and line ends outside of parentheses, and at
// blanks too if they separate; false if the parentheses are not balanced.
func splitSpecs(text string, at *yaml.Node, blanks bool) ([]toolSpec, bool) {
	var specs []toolSpec
	depth, from := 0, 0
	flush := func(to int) {
		if item := strings.TrimSpace(text[from:to]); item != "" {
			specs = append(specs, newSpec(item, at))
		}
		from = to
	}
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
			if depth < 0 {
				return nil, false
			}
		case depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n'):
			if next := strings.TrimLeft(text[i:], " \t\n"); strings.HasPrefix(next, "(") {
				return nil, false // "Bash (git:*)": is it Bash?
			}
			if !blanks && (r == ' ' || r == '\t') {
				continue
			}
			flush(i)
			from = i + 1
		}
	}
	flush(len(text))
	return specs, depth == 0
}

func newSpec(item string, at *yaml.Node) toolSpec {
	s := toolSpec{text: item, name: item, at: at}
	if i := strings.IndexByte(item, '('); i >= 0 {
		s.name, s.args = item[:i], strings.TrimSpace(strings.TrimSuffix(item[i+1:], ")"))
		s.scoped = s.args != "*"
		s.opaque = !strings.HasSuffix(item, ")")
	}
	return s
}

// rawList reads a list of tools that is not valid YAML: names in one line, or
// lines that begin with a dash. Anything that YAML could read otherwise is not
// repaired.
func rawList(raw string) ([]string, bool) {
	lines := strings.Split(raw, "\n")
	var items []string
	for _, line := range lines {
		line = strings.TrimSpace(line)
		item, dashed := strings.CutPrefix(line, "-")
		switch {
		case line == "":
			continue
		case dashed && (strings.HasPrefix(item, " ") || strings.HasPrefix(item, "\t")):
			item = strings.TrimSpace(item)
			item = trimPair(trimPair(item, `"`, `"`), "'", "'")
		case len(lines) == 1:
			item = trimPair(line, "[", "]")
		default:
			return nil, false
		}
		if strings.ContainsAny(item, "\"'{}[]#&!|>%`\\\uFFFD") {
			return nil, false
		}
		items = append(items, item)
	}
	return items, len(items) > 0
}

// trimPair cuts off what stands around s, if both are there.
func trimPair(s, left, right string) string {
	if len(s) >= len(left)+len(right) && strings.HasPrefix(s, left) && strings.HasSuffix(s, right) {
		return s[len(left) : len(s)-len(right)]
	}
	return s
}

// unknownTools reports, in one diagnostic, the unknown names of a list of tools.
func (p *Reader) unknownTools(specs []toolSpec) {
	const most = 5 // names that are spelt out
	if len(specs) == 0 {
		return
	}
	var names []string
	for _, s := range specs[:min(most, len(specs))] {
		names = append(names, strconv.Quote(spelling.Short(s.text)))
	}
	message := strings.Join(names, ", ")
	if more := len(specs) - most; more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	verb := "is not a tool"
	if len(specs) > 1 {
		verb = "are no tools"
	}
	p.Report(diag.ToolUnknown, specs[0].at.Line, specs[0].at.Column,
		"use "+strings.Join(toolcatalog.Rules, ", ")+", or mcp__server__tool", "%s %s here, and not allowed", message, verb)
}
