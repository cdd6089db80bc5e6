package definition

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// May says in a few words what the agent's own rules let it do, for lists:
// "read, search; asks: shell (git push *)". What the rules of the user and of
// the session make of it is not part of it, nor is the task: deny that ends
// every subagent's rules.
func (d *Definition) May() string {
	rules := slices.Collect(d.Permission.Rules())
	if n := len(rules); n > 0 && rules[n-1].Tool == "task" && rules[n-1].Source == (permission.Source{File: access.BuiltIn}) {
		rules = rules[:n-1]
	}
	if len(rules) == 0 {
		return "the workspace's rules"
	}
	s := summary{rest: verdictOf(rules, "")}
	for _, g := range toolcatalog.Groups() {
		if g.Tools = slices.DeleteFunc(g.Tools, func(tool string) bool { return !Exists(tool) }); len(g.Tools) == 0 {
			continue
		}
		first := verdictOf(rules, g.Tools[0])
		if !slices.ContainsFunc(g.Tools[1:], func(tool string) bool { return !first.equal(verdictOf(rules, tool)) }) {
			s.add(g.Word, first)
			continue
		}
		for _, tool := range g.Tools {
			s.add(tool, verdictOf(rules, tool))
		}
	}
	for _, name := range otherTools(rules) {
		if slices.ContainsFunc(d.Named, func(n access.Named) bool { return slices.Contains(n.Tools, name) }) {
			continue // of an MCP server
		}
		word := name
		if name == dialect.OtherTools {
			word = "tools of MCP servers"
		}
		s.add(word, verdictOf(rules, name))
	}
	return s.text()
}

// Exists reports whether a tool of the catalogue is there in this version.
func Exists(tool string) bool {
	row, ok := toolcatalog.Find(tool)
	return ok && !row.Reserved
}

// Missing returns the tools that the agent's file allows by name and that are not here, as the
// file spells them. has reports whether a tool of ours is here.
func (d *Definition) Missing(has func(tool string) bool) (names []string) {
	for _, n := range d.Named {
		if !slices.ContainsFunc(n.Tools, has) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// otherTools returns the tools, or globs of such, that rules name beside ours.
func otherTools(rules []permission.Rule) []string {
	var names []string
	for _, r := range rules {
		if access.Covers(r.Tool, access.Anything) || slices.Contains(names, r.Tool) || slices.ContainsFunc(toolcatalog.Rules, func(own string) bool { return globMatches(r.Tool, own) }) {
			continue
		}
		names = append(names, r.Tool)
	}
	return names
}

// globMatches reports whether a glob for tools matches the name of one. Rules repeat a few globs
// thousands of times.
func globMatches(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?[{(!\"\\+@|") {
		return pattern == s
	}
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(s)
}

// verdict is what rules say of one tool.
type verdict struct {
	base             permission.Action // of what no pattern speaks of; 0 means no rule does
	allow, ask, deny []string          // patterns of which other things are said
}

// verdictOf returns what rules say of tool; "": of one that none of them names.
func verdictOf(rules []permission.Rule, tool string) verdict {
	var v verdict
	for _, r := range rules {
		if !access.Covers(r.Tool, access.Anything) && r.Tool != tool && (tool == "" || !globMatches(r.Tool, tool)) {
			continue
		}
		if access.Covers(r.Pattern, access.Anything) {
			v = verdict{base: r.Action}
			continue
		}
		covers := access.Covering(r.Pattern)
		for _, list := range []*[]string{&v.allow, &v.ask, &v.deny} {
			*list = slices.DeleteFunc(*list, covers)
		}
		switch {
		case r.Action == v.base && len(v.allow)+len(v.ask)+len(v.deny) == 0: // no exception to take back
		case r.Action == permission.Allow:
			v.allow = append(v.allow, r.Pattern)
		case r.Action == permission.Ask:
			v.ask = append(v.ask, r.Pattern)
		default:
			v.deny = append(v.deny, r.Pattern)
		}
	}
	return v
}

func (v verdict) equal(o verdict) bool {
	return v.base == o.base && slices.Equal(v.allow, o.allow) && slices.Equal(v.ask, o.ask) && slices.Equal(v.deny, o.deny)
}

// summary gathers what differs between tools and the rest of them.
type summary struct {
	rest              verdict // of every tool that no rule names
	allow, ask, never []string
}

// add files the tool that word names under what v says of it.
func (s *summary) add(word string, v verdict) {
	if !v.equal(s.rest) {
		s.file(word, v)
	}
}

func (s *summary) file(word string, v verdict) {
	switch {
	case v.base == permission.Allow:
		s.allow = append(s.allow, word+limits(nil, v.ask, v.deny))
	case len(v.allow) > 0 && v.base == permission.Ask:
		s.allow = append(s.allow, word+limits(v.allow, nil, nil))
	case len(v.allow) > 0:
		s.allow = append(s.allow, word+limits(v.allow, nil, v.deny))
	}
	switch {
	case v.base == permission.Ask:
		s.ask = append(s.ask, word+limits(nil, nil, v.deny))
	case v.base != permission.Allow && len(v.ask) > 0:
		s.ask = append(s.ask, word+limits(v.ask, nil, nil))
	}
	switch {
	case v.base == permission.Deny && len(v.allow)+len(v.ask) == 0:
		s.never = append(s.never, word)
	case v.base == 0 && len(v.allow) == 0 && len(v.deny) > 0:
		s.never = append(s.never, word+limits(v.deny, nil, nil))
	}
}

func (s *summary) text() string {
	word := "anything"
	if len(s.allow)+len(s.ask)+len(s.never) > 0 {
		word = "anything else"
	}
	s.file(word, s.rest)
	if s.rest.base == permission.Deny { // what is not named is not allowed
		s.never = nil
	}
	var parts []string
	if len(s.allow) > 0 {
		parts = append(parts, strings.Join(s.allow, ", "))
	}
	if len(s.ask) > 0 {
		parts = append(parts, "asks: "+strings.Join(s.ask, ", "))
	}
	if len(s.never) > 0 {
		parts = append(parts, "never: "+strings.Join(s.never, ", "))
	}
	switch {
	case s.rest.base == 0:
		parts = append(parts, "else the workspace's rules")
	case len(parts) == 0:
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// limits says in parentheses for which patterns a word holds: "(git *, asks
// git push *, not git clean *)". More than fit are "…".
func limits(only, asks, not []string) string {
	const most = 56 // characters
	var all []string
	for _, pattern := range only {
		if !slices.Contains(only, pattern+" *") { // "git diff" beside "git diff *"
			all = append(all, pattern)
		}
	}
	for _, pattern := range asks {
		all = append(all, "asks "+pattern)
	}
	for _, pattern := range not {
		all = append(all, "not "+pattern)
	}
	if len(all) == 0 {
		return ""
	}
	text := ""
	for i, item := range all {
		if i > 0 {
			item = ", " + item
		}
		if len(text)+len(item) > most {
			if text == "" {
				return " (some)"
			}
			return " (" + text + ", …)"
		}
		text += item
	}
	return " (" + text + ")"
}
