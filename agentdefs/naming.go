package agentdefs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxName is the longest name of an agent, in characters; longer ones make no
// usable enum value.
const maxName = 200

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// nameFault says what keeps name from being the name of an agent, and what to
// do about it; empty: nothing.
func nameFault(name string) (fault, fix string) {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "holds control characters", "write it in one line of printable characters"
	case strings.ContainsFunc(name, unseen):
		return "holds characters that cannot be seen", "write it in printable characters"
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Sprintf("has more than %d characters", maxName), "shorten it"
	}
	return "", ""
}

// unseen reports whether r has no form of its own, so that a name with it reads
// like another one: a mark of direction, a space without width. The joiners are
// left out, which some scripts and emoji need.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200C' && r != '\u200D'
}

// checkName judges the name of d, which stands at e.
func (p *parser) checkName(d *Definition, e entry) {
	own := fileName(p.file)
	if fault, fix := nameFault(d.Name); fault != "" {
		p.refuse(codeNameInvalid, e.line, e.column, fix, "the name %q %s", cutShort(d.Name), fault)
	} else if !slug.MatchString(d.Name) {
		p.report(codeNameNotSlug, e.line, e.column, "", "the name %q is not of the form lower-case-words", d.Name)
	}
	if d.Name != own {
		p.report(codeNameDiffers, e.line, e.column, "", "the name %q differs from the file's, %q", cutShort(d.Name), own)
	}
}

// aliases returns the other names of the agent, each once.
func (p *parser) aliases(e entry) []string {
	var out []string
	for _, name := range p.textsOf(e) {
		if fault, fix := nameFault(name); fault != "" {
			p.report(codeFieldType, e.line, e.column, fix, "%s: %q %s, and is ignored", e.key, cutShort(name), fault)
			continue
		}
		if !slices.ContainsFunc(out, func(have string) bool { return strings.EqualFold(have, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// callers returns the agents that may call this one, in lower case. What cannot
// be read exactly refuses the file: it would open what its author closed.
func (p *parser) callers(e entry) []string {
	const fix = "name agents, or " + Host + " for a caller that is none, as in caller: [planner, host]; leave it out for any"
	items, ok := []*yaml.Node{e.node}, e.node != nil && !isNull(e.node) && !tagged(e.node)
	if ok && e.node.Kind == yaml.SequenceNode {
		items = e.node.Content
	}
	var out []string
	for _, n := range items {
		if ok = ok && n.Kind == yaml.ScalarNode && !isNull(n); !ok {
			break
		}
		for name := range strings.SplitSeq(n.Value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			fault, _ := nameFault(name)
			if ok = ok && name != "" && fault == "" && !strings.ContainsAny(name, "*?"); ok && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	if !ok || len(out) == 0 {
		p.refuse(codePermissionInvalid, e.line, e.column, fix, "%s is no list of names, so who may call the agent is not clear, and nothing of this file is served", e.key)
		return nil
	}
	return out
}
