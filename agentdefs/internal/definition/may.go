package definition

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// May says in a few words what the agent may do under rules, for lists:
// "read, search; asks: shell (git push *)". It decides as calls are decided, with the agent's own
// rules as the last of those of agents. The task: deny that ends every subagent's rules is
// not part of it, nor are the files with secrets that the defaults deny.
func (d *Definition) May(rules permission.Layers) string {
	rules.Agents = append(slices.Clip(rules.Agents), d.Permission)
	s := summary{rest: rules.Reach(noTool)}
	for _, g := range toolcatalog.Groups() {
		g.Tools = slices.DeleteFunc(g.Tools, func(tool string) bool {
			return !Exists(tool) || tool == toolcatalog.Task && d.deniedTaskAtEnd()
		})
		if len(g.Tools) == 0 {
			continue
		}
		first := rules.Reach(g.Tools[0])
		if !slices.ContainsFunc(g.Tools[1:], func(tool string) bool { return !equal(first, rules.Reach(tool)) }) {
			s.add(g.Word, first)
			continue
		}
		for _, tool := range g.Tools {
			s.add(tool, rules.Reach(tool))
		}
	}
	for _, name := range d.otherTools() {
		s.add(name, rules.Reach(exampleTool(name)))
	}
	return s.text()
}

// noTool is the name of a tool that no rule names.
const noTool = "\uE000"

// exampleTool returns a name that a glob for tools probably matches.
func exampleTool(pattern string) string { return strings.ReplaceAll(pattern, "*", noTool) }

// deniedTaskAtEnd reports whether the rules end with the one that every subagent has.
func (d *Definition) deniedTaskAtEnd() bool {
	rules := slices.Collect(d.Permission.Rules())
	if len(rules) == 0 {
		return false
	}
	last := rules[len(rules)-1]
	return last.Tool == toolcatalog.Task && last.Source == (permission.Source{File: access.BuiltIn}) &&
		!slices.ContainsFunc(rules[:len(rules)-1], func(r permission.Rule) bool { return r.Tool == toolcatalog.Task })
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

// otherTools returns the tools, or globs of such, that the agent's rules name beside ours and
// those of MCP servers.
func (d *Definition) otherTools() (names []string) {
	seen := map[string]bool{dialect.OtherTools: true} // those are the rest
	for r := range d.Permission.Rules() {
		if seen[r.Tool] {
			continue
		}
		seen[r.Tool] = true
		if access.Covers(r.Tool, access.Anything) ||
			slices.ContainsFunc(toolcatalog.Rules, func(own string) bool { return permission.NamesTool(r.Tool, own) }) ||
			slices.ContainsFunc(d.Named, func(n access.Named) bool { return slices.Contains(n.Tools, r.Tool) }) {
			continue
		}
		names = append(names, r.Tool)
	}
	return names
}

func equal(a, b permission.Reach) bool {
	return a.Base == b.Base && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) && slices.Equal(a.Deny, b.Deny)
}

// summary gathers what differs between tools and the rest of them.
type summary struct {
	rest              permission.Reach // of every tool that no rule names
	allow, ask, never []string
}

// add files the tool that word names under what v says of it.
func (s *summary) add(word string, v permission.Reach) {
	if !equal(v, s.rest) {
		s.file(word, v)
	}
}

func (s *summary) file(word string, v permission.Reach) {
	switch {
	case v.Base == permission.Allow:
		s.allow = append(s.allow, word+limits(nil, v.Ask, v.Deny))
	case len(v.Allow) > 0 && v.Base == permission.Ask:
		s.allow = append(s.allow, word+limits(v.Allow, nil, nil))
	case len(v.Allow) > 0:
		s.allow = append(s.allow, word+limits(v.Allow, nil, v.Deny))
	}
	switch {
	case v.Base == permission.Ask:
		s.ask = append(s.ask, word+limits(nil, nil, v.Deny))
	case v.Base == permission.Deny && len(v.Allow) > 0: // which says what not
		if len(v.Ask) > 0 {
			s.ask = append(s.ask, word+limits(v.Ask, nil, nil))
		}
	case v.Base == permission.Deny && len(v.Ask) > 0:
		s.ask = append(s.ask, word+limits(v.Ask, nil, v.Deny))
	}
	if v.Base == permission.Deny && len(v.Allow)+len(v.Ask) == 0 {
		s.never = append(s.never, word)
	}
}

func (s *summary) text() string {
	word := "anything"
	if len(s.allow)+len(s.ask)+len(s.never) > 0 {
		word = "anything else"
	}
	s.file(word, s.rest)
	if s.rest.Base == permission.Deny { // what is not named is not allowed
		s.never = nil
	}
	var parts []string
	for _, list := range []struct {
		word  string
		items []string
	}{{"", s.allow}, {"asks: ", s.ask}, {"never: ", s.never}} {
		if len(list.items) > 0 {
			parts = append(parts, list.word+strings.Join(list.items, ", "))
		}
	}
	if len(parts) == 0 {
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
