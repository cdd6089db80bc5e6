package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/tool"
)

// layers are the rulesets that judge a call, and what the kernel holds of them.
type layers struct {
	permission.Layers
	sandboxed bool   // the tool starts programs
	notHeld   string // why no sandbox holds these to all of the rules; empty means one does
}

// layersFor returns the rulesets that judge calls of t now. nil means what they judge
// starts no program.
func (s *Session) layersFor(t tool.Tool) (*layers, error) {
	static, err := s.m.static.Rules()
	if static == nil && err != nil {
		return nil, err
	}
	s.m.tellRules(err)
	s.mu.Lock()
	l := &layers{Layers: permission.Layers{Agents: s.rulesets, Static: static, Runtime: s.runtime}}
	s.mu.Unlock()
	if sandboxed, ok := t.(tool.Sandboxed); ok {
		l.sandboxed = true
		l.Held, l.notHeld = sandboxed.Held(s.id, &l.Layers)
	}
	return l, nil
}

// decide judges the values of a call.
func (l *layers) decide(values []permission.Value) permission.Decision {
	if l.sandboxed && !l.Held {
		// A program may reach any host.
		values = append(slices.Clip(values), permission.Value{Tool: tool.NetworkTool, Kind: permission.Mentioned, Certainty: permission.Unknown})
	}
	d := l.Decide(values)
	// A rule for every host does not mean this machine and its network.
	if d.Action == permission.Allow && d.Value.Tool == tool.NetworkTool && tool.InternalHost(d.Value.Text) && !namesHost(d.Rule) {
		d.Action = permission.Ask
	}
	return d
}

// namesHost reports whether the pattern of a rule about hosts begins with the
// name or the number of one.
func namesHost(r *permission.Rule) bool {
	return r != nil && r.Pattern != "" && !strings.ContainsRune("*?[{!(+@", rune(r.Pattern[0]))
}

// reason says why a decision is what it is.
func (l *layers) reason(d permission.Decision) string {
	text := d.Reason()
	if d.Action == permission.Ask && l.notHeld != "" {
		text += " No sandbox holds the command: " + l.notHeld + "."
	}
	return text
}

// tellRules logs what is wrong with the static rules, once for each thing, and
// that nothing is any more.
func (m *Manager) tellRules(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	m.mu.Lock()
	before := m.rulesSaid
	m.rulesSaid = said
	m.mu.Unlock()
	switch {
	case said == before:
	case err != nil:
		m.log.Error("the last good permission rules stay in force", "err", err)
	default:
		m.log.Info("the permission rules are in force again as they are written")
	}
}

// RuleHint begins the last sentence of a refusal if a rule would allow the
// call: the file and the rule follow.
const RuleHint = " To allow it, add to"

// ruleHint says which rule would allow a value that nobody could be asked
// about; nothing where no rule can.
func (m *Manager) ruleHint(value permission.Value) string {
	patterns := shell.AlwaysPatterns(value.Tool, []permission.Value{value})
	if len(patterns) == 0 {
		return ""
	}
	return fmt.Sprintf(RuleHint+" %s: %q: {%q: \"allow\"}", m.rulesFile, value.Tool, patterns[0])
}
