package agentdefs

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// This file holds what keeps a permission block from giving more than its
// author wrote: names and patterns that mean something else elsewhere.

// limit returns r as far as c's name is about it; false: not at all.
func (c counterpart) limit(r permission.Rule) (permission.Rule, bool) {
	if r.Action != permission.Deny && !slices.Contains(c.allow, r.Tool) {
		return r, false
	}
	if c.only != "" {
		switch {
		case r.Pattern == anything:
			r.Pattern = c.only
		case r.Action == permission.Allow && !strings.HasSuffix(r.Pattern, strings.TrimPrefix(c.only, anything)):
			return r, false
		}
	}
	return r, true
}

// deniedWriters returns those of opencode's names for writing that the
// permission block n denies as a whole.
func deniedWriters(n *yaml.Node) map[string]bool {
	denied := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key, value := n.Content[i].Value, n.Content[i+1]; writers[key] && value.Kind == yaml.ScalarNode && value.Value == permission.Deny.String() {
			denied[key] = true
		}
	}
	return denied
}

// liftsOther reports whether what key says of tool would lift what another name
// for it denies. opencode judges all of them as one.
func liftsOther(denied map[string]bool, key, tool string) bool {
	if !writers[key] {
		return false
	}
	for other := range denied {
		if c, _ := translate(other); other != key && slices.Contains(c.deny, tool) {
			return true
		}
	}
	return false
}

// alsoLiteral returns rules that deny what r's pattern is as a text in which only
// the stars and question marks are special: "app/(auth)/**" is a group to a
// glob, and a folder to many an author.
func alsoLiteral(r permission.Rule) clause {
	if r.Action != permission.Deny || !strings.ContainsAny(r.Pattern, "([") || strings.Contains(r.Pattern, `\`) {
		return nil
	}
	if quoted := quoteButWild(r.Pattern); quoted != r.Pattern {
		r.Pattern = quoted
		return clause{r}
	}
	return nil
}

// quoteButWild is a pattern in which only the stars and question marks of s are
// special, and the home folder at its front.
func quoteButWild(s string) string {
	front := ""
	for _, home := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(s, home); ok {
			front, s = home, rest
		}
	}
	var b strings.Builder
	b.WriteString(front)
	for s != "" {
		i := strings.IndexAny(s, "*?")
		if i < 0 {
			i = len(s)
		}
		b.WriteString(glob.Quote(s[:i]))
		if i < len(s) {
			b.WriteByte(s[i])
			i++
		}
		s = s[i:]
	}
	return b.String()
}

// literal returns value, what a permission block says of a tool, with those
// patterns that deny and are no globs as the texts they are. In a file of
// opencode every pattern is such a text.
func (p *parser) literal(value *yaml.Node) *yaml.Node {
	if value.Kind != yaml.MappingNode {
		return value
	}
	out := *value
	out.Content = slices.Clone(value.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		pattern, action := out.Content[i], out.Content[i+1]
		if pattern.Kind != yaml.ScalarNode {
			continue
		}
		text := *pattern
		text.Value = quoteButWild(pattern.Value)
		if p.dialect.plain {
			out.Content[i] = &text
			continue
		}
		if _, err := glob.Compile(pattern.Value); err == nil || action.Kind != yaml.ScalarNode || action.Value != permission.Deny.String() {
			continue
		}
		out.Content[i] = &text
		p.report(codePatternLiteral, pattern.Line, pattern.Column, "put a backslash before each character that means itself", "the pattern %q is no glob; what it says as a plain text is denied", cutShort(pattern.Value))
	}
	return &out
}

// preapprove tells Kiro's allowedTools, which are not asked about, from its
// tools, which are all that there are.
func (p *parser) preapprove(in []entry) {
	if !p.dialect.asks || !slices.ContainsFunc(in, func(e entry) bool { return e.id == fieldTools && e.key == "tools" }) {
		return
	}
	for i := range in {
		if canonical(in[i].key) == "allowedtools" {
			in[i].id, in[i].misspelled = fieldPreapproved, false
		}
	}
}

// asked makes of the tools that there are those that are asked about, but for
// the ones that are approved beforehand.
func (p *parser) asked(listed []clause, fields map[fieldID]entry) []clause {
	var approved []permission.Rule
	if e, ok := fields[fieldPreapproved]; ok {
		specs, _ := p.toolList(e)
		for _, s := range specs {
			if _, kind := lookUp(s.name); kind == toolOurs || kind == toolMCP {
				approved = append(approved, p.allow(s)...)
			}
		}
	}
	out := make([]clause, 0, len(listed))
	for _, c := range listed {
		var rules, after clause
		for _, r := range c {
			if r.Action == permission.Allow {
				r.Action = permission.Ask
				for _, a := range approved {
					if covers(r.Tool, a.Tool) && covers(r.Pattern, a.Pattern) {
						after = append(after, a)
					}
				}
			}
			rules = append(rules, r)
		}
		out = append(out, append(rules, after...))
	}
	return out
}

// outsideFiles matches every file outside of the workspace, whose values begin
// with a slash, and, since the pattern does not, none within it.
const outsideFiles = `\/**`

// externalDirectory applies opencode's rule about files outside of the workspace.
// What it allows or asks about is left as it is: rules about the workspace's
// files allow none outside. What it denies holds for file tools, and for what
// commands are known to read and write.
func (p *parser) externalDirectory(key, value *yaml.Node) clause {
	type pair struct {
		pattern        string
		at, actionNode *yaml.Node
	}
	pairs := []pair{{anything, key, value}}
	if value.Kind == yaml.MappingNode {
		pairs = nil
		for i := 0; i+1 < len(value.Content); i += 2 {
			pairs = append(pairs, pair{value.Content[i].Value, value.Content[i], value.Content[i+1]})
		}
	}
	var out clause
	for _, item := range pairs {
		action, err := permission.ParseAction(item.actionNode.Value)
		if err != nil || item.at.Kind != yaml.ScalarNode || item.actionNode.Kind != yaml.ScalarNode {
			p.refuse(codePermissionInvalid, item.at.Line, item.at.Column, "use allow, ask or deny", "what external_directory says of %q cannot be read exactly, so nothing of this file is served", cutShort(item.pattern))
			continue
		}
		if action != permission.Deny {
			if len(pairs) > 1 {
				p.report(codeToolUnknown, item.at.Line, item.at.Column, "write absolute patterns under read_file, write_file and edit_file", "external_directory: what is to be %sed outside of the workspace is left to the other rules", action)
			}
			continue
		}
		patterns := []string{outsideFiles}
		if !covers(item.pattern, anything) {
			patterns = []string{quoteButWild(item.pattern), quoteButWild(strings.TrimRight(item.pattern, "/*")) + "/**"}
		}
		for _, tool := range []string{"read_file", "write_file", "edit_file"} {
			for _, pattern := range patterns {
				r := p.rule(item.at, tool, permission.Deny)
				r.Pattern = expandFront(pattern, p.opts.Home)
				out = append(out, r)
			}
		}
	}
	return out
}

// expandFront puts the home folder in place of "~/" or "$HOME/" at the front.
func expandFront(pattern, home string) string {
	for _, front := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(pattern, front); ok && home != "" {
			return glob.Quote(strings.TrimSuffix(home, "/")) + "/" + rest
		}
	}
	return pattern
}
