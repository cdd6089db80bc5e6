package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// maxName is the longest name of an agent, in characters; longer ones make no
// usable enum value.
const maxName = 200

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// NameFault says what keeps name from being the name of an agent, and what to
// do about it; empty means nothing.
func NameFault(name string) (fault, fix string) {
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

// checkName checks the name of the agent.
func (p *parser) checkName(name string) {
	e := p.name
	own := p.ownName()
	if fault, fix := NameFault(name); fault != "" {
		p.Refuse(diag.NameInvalid, e.Line, e.Column, fix, "the name %q %s", spelling.Short(name), fault)
	} else if !slug.MatchString(name) {
		p.Report(diag.NameNotSlug, e.Line, e.Column, "", "the name %q is not of the form lower-case-words", name)
	}
	if name != own {
		p.Report(diag.NameDiffers, e.Line, e.Column, "", "the name %q differs from the file's, %q", spelling.Short(name), own)
	}
}

// aliases returns the other names of the agent, each once.
func (p *parser) aliases(e agentfile.Entry) []string {
	var out []string
	for _, name := range p.Texts(e) {
		if fault, fix := NameFault(name); fault != "" {
			p.Report(diag.FieldType, e.Line, e.Column, fix, "%s: %q %s, and is ignored", e.Key, spelling.Short(name), fault)
			continue
		}
		if !slices.ContainsFunc(out, func(have string) bool { return strings.EqualFold(have, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// skills returns the names of the skills of an agent, each once.
func (p *parser) skills(e agentfile.Entry) (out []string) {
	for _, name := range p.Texts(e) {
		name = strings.ToLower(strings.Join(strings.Fields(name), "-"))
		if fault, fix := NameFault(name); fault != "" {
			p.Report(diag.FieldType, e.Line, e.Column, fix, "%s: %q %s, and is ignored", e.Key, spelling.Short(name), fault)
			continue
		}
		if slices.Contains(out, name) {
			continue
		}
		if out = append(out, name); p.knownSkill != nil && !p.knownSkill(name) {
			p.Report(diag.SkillUnknown, e.Line, e.Column, "add .agents/skills/NAME/SKILL.md, or remove the name", "there is no skill %q that a model may load; the agent runs without it", spelling.Short(name))
		}
	}
	return out
}

// callers takes the agents that may call this one. What cannot be read exactly
// refuses the file: it would open what its author closed.
func (p *parser) callers(d *Definition, e agentfile.Entry) {
	const fix = "name agents, or " + Host + " for a caller that is none, as in callers: [planner, host]; leave it out for any"
	names, ok := p.names(e)
	switch {
	case !ok || len(names) == 0:
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, fix, "%s is not a list of names, so who may call the agent is not clear, and nothing of this file is served", e.Key)
	case d.Callers != nil:
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "keep callers alone", "caller and callers both say who may call the agent, and which one counts is not clear")
	}
	d.Callers = names
}

// caller takes the field that says whether an agent is told what kind of caller it
// has. It once was the list of callers, and is still read as one.
func (p *parser) caller(d *Definition, e agentfile.Entry) {
	if n := e.Node; n != nil && n.Kind == yaml.ScalarNode && !agentfile.IsTagged(n) && strings.EqualFold(strings.TrimSpace(n.Value), "agent") {
		d.CalledByAgent = true
		return
	}
	p.Report(diag.FieldDeprecated, e.Line, e.Column, "write callers: in place of caller:", "the list of who may call the agent is named callers now; caller: agent tells the agent that an agent has called it")
	p.callers(d, e)
}

// allowAgents returns the agents that this one may call; not nil.
func (p *parser) allowAgents(e agentfile.Entry) []string {
	names, ok := p.names(e)
	if !ok {
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "name agents, as in allowAgents: [explore, general]; [] for none; leave it out for all",
			"%s is not a list of names, so which agents this one may call is not clear, and nothing of this file is served", e.Key)
	}
	return append([]string{}, names...)
}

// agents reads Copilot's list of the agents to call. One that can't be read as names is
// left to the rules, which then allow none.
func (p *parser) agents(d *Definition, e agentfile.Entry) {
	if access.EveryAgent(e) {
		return
	}
	names, ok := p.names(e)
	if !ok {
		p.access.Agents = &e
		return
	}
	p.onlyAgents(d, append([]string{}, names...))
}

// onlyAgents notes which agents the agent may call, at most: of two lists what both have.
func (p *parser) onlyAgents(d *Definition, names []string) {
	if d.AllowAgents != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(d.AllowAgents, name) })
	}
	d.AllowAgents = names
}

// names returns the names of agents in a list, or in a text with commas, in lower
// case and each once. ok: all of it is names.
func (p *parser) names(e agentfile.Entry) (names []string, ok bool) {
	items, ok := []*yaml.Node{e.Node}, e.Node != nil && !agentfile.IsNull(e.Node) && !agentfile.IsTagged(e.Node)
	if ok && e.Node.Kind == yaml.SequenceNode {
		items = e.Node.Content
	}
	for _, n := range items {
		if ok = ok && n.Kind == yaml.ScalarNode && !agentfile.IsNull(n); !ok {
			return names, false
		}
		for name := range strings.SplitSeq(n.Value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			fault, _ := NameFault(name)
			if ok = ok && name != "" && fault == "" && !strings.ContainsAny(name, "*?"); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, ok
}

// Host is a caller that is not an agent: a connected host, or the command line.
const Host = "host"
