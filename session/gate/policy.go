package gate

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/tool"
)

// StaticRules are the user's rules: the permissions.jsonc of the state folder.
type StaticRules interface {
	// Rules returns the rules in force. With an error they are the last good
	// ones; nil and an error deny every call.
	Rules() (*permission.Ruleset, error)

	// Allow adds rules that allow the patterns.
	Allow(tool string, patterns []string) error
}

// RepositoryRules are the rules that a repository has for itself.
type RepositoryRules interface {
	// Rules returns the rules in force, and whether a person trusts them. With an error
	// they are the last good ones; nil and an error deny every call.
	Rules() (rules *permission.Ruleset, trusted bool, err error)
}

// SettingsRules are the rules in the settings of other programs. They are decided on like an
// administrator's: each set by itself, and only to narrow. What a person trusts of them is granted.
type SettingsRules interface {
	// Rules returns the rules that narrow, and the trusted ones that allow. With an error narrow
	// has the last good ones; nil and an error deny every call.
	Rules() (narrow, granted []*permission.Ruleset, err error)
}

// Policy has the rules of a process: those of its administrator and of its user. Calls that
// wait learn of their changes. It is safe for concurrent use; its fields do not change.
type Policy struct {
	Static     StaticRules
	Repository RepositoryRules // nil means none
	Settings   SettingsRules   // nil means none
	File       string          // the file of Static, for people
	ByFlag     bool            // people give their rules with the command, by --allow
	Above      *policy.Store   // what an administrator forbids; nil means nothing
	Log        *slog.Logger

	changes changes
	mu      sync.Mutex
	fault   string // of the static rules that was logged last; empty means there is none
}

// Rules are the rulesets that hold for a session: the agents' rules, from the top session down
// to its own, and what answers have allowed. They are safe for concurrent use.
type Rules struct {
	mu      sync.Mutex
	agents  []*permission.Ruleset // never changed in place
	own     int                   // how many of them, at the end, are the agent's own
	runtime *permission.Ruleset
}

// Set sets the rulesets of agents, of which own at the end are the session's own.
func (r *Rules) Set(agents []*permission.Ruleset, own int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents, r.own = agents, own
}

// SetOwn replaces the agent's own rulesets by that of another agent.
func (r *Rules) SetOwn(own *permission.Ruleset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents, r.own = append(slices.Clone(r.agents[:len(r.agents)-r.own]), own), 1
}

// Agents returns the rulesets of agents. The caller must not change them.
func (r *Rules) Agents() []*permission.Ruleset {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agents
}

// DeniesAll reports whether one of the rulesets denies a tool whatever its
// arguments.
func DeniesAll(rulesets []*permission.Ruleset, name string) bool {
	return slices.ContainsFunc(rulesets, func(r *permission.Ruleset) bool { return r.DeniesAll(name) })
}

// Current returns what an administrator forbids now; nil means nothing. After an error
// nothing is allowed.
func (p *Policy) Current() (*policy.Policy, error) {
	if p.Above == nil {
		return nil, nil
	}
	return p.Above.Current()
}

// Layers returns the rulesets that now decide on calls of t in the session of who. A nil t
// starts no program.
func (p *Policy) Layers(r *Rules, who permission.Who, sessionID string, t tool.Tool) (*Layers, error) {
	above, err := p.Current()
	if err != nil {
		return nil, err
	}
	static, err := p.Static.Rules()
	if static == nil && err != nil {
		return nil, err
	}
	var repository *permission.Ruleset
	trusted := false
	if p.Repository != nil {
		var wrong error
		if repository, trusted, wrong = p.Repository.Rules(); wrong != nil && repository == nil {
			return nil, wrong
		}
		err = errors.Join(err, wrong)
	}
	var others, granted []*permission.Ruleset
	if p.Settings != nil {
		var wrong error
		if others, granted, wrong = p.Settings.Rules(); wrong != nil && others == nil {
			return nil, wrong
		}
		err = errors.Join(err, wrong)
	}
	p.logFault(err)
	r.mu.Lock()
	l := &Layers{Layers: permission.Layers{Policies: above.Rules(who), Settings: others, Granted: granted, Agents: r.agents, Callers: len(r.agents) - r.own, Static: static.For(who), Runtime: r.runtime.For(who), Repository: repository.For(who), Trusted: trusted, Defaults: permission.Defaults()}, lasting: above.Lasting(), second: above.SecondPerson(who), Policy: above.Hash()}
	r.mu.Unlock()
	if sandboxed, ok := t.(tool.Sandboxed); ok {
		l.sandboxed = true
		l.Held, l.notHeld = sandboxed.Held(sessionID, l.Strictly())
	}
	return l, nil
}

// logFault logs once what is wrong with the static rules, and then that it is repaired.
func (p *Policy) logFault(err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	p.mu.Lock()
	before := p.fault
	p.fault = fault
	p.mu.Unlock()
	switch {
	case fault == before:
	case err != nil:
		p.Log.Error("the last good permission rules stay in force", "err", err)
	default:
		p.Log.Info("the permission rules are in force again as they are written")
	}
}

// RuleHint begins the last sentence of a refusal if a rule would allow the call. The file and
// the rule follow.
const RuleHint = " To allow it, "

// Hint says which rule would allow a value, if a rule can and nobody was there to be asked.
func (p *Policy) Hint(d permission.Decision) string {
	rule := RuleFor(d)
	if rule == "" {
		return ""
	}
	if p.ByFlag {
		pattern := shell.AlwaysPatterns(d.Value.Tool, []permission.Value{d.Value})[0]
		return RuleHint + "give --allow '" + strings.ReplaceAll(d.Value.Tool+":"+pattern, "'", `'\''`) + "'"
	}
	return fmt.Sprintf(RuleHint+"add to %s: %s", p.File, rule)
}

// RuleFor returns the rule that would allow the value of a decision, in the form of
// permissions.jsonc; empty if no rule can.
func RuleFor(d permission.Decision) string {
	value := d.Value
	patterns := shell.AlwaysPatterns(value.Tool, []permission.Value{value})
	if len(patterns) == 0 || d.Layer.Narrows() || d.Layer == permission.LayerHook {
		return ""
	}
	return fmt.Sprintf("%q: {%q: \"allow\"}", value.Tool, patterns[0])
}

// AllowAlways adds what the answer "always" allows to the rules of a session and to the static
// ones. Calls that wait are then decided on again.
func (p *Policy) AllowAlways(r *Rules, name string, patterns []string) error {
	defer p.changes.wake()
	above, err := p.Current()
	if err == nil {
		err = above.Lasting()
	}
	if err != nil {
		return err
	}
	static, err := p.Static.Rules()
	if static == nil && err != nil {
		return err
	}
	rules, err := allowRules(static, permission.Defaults(), name, patterns)
	if err != nil {
		return err
	}
	r.mu.Lock()
	runtime, err := r.runtime.Append(rules...)
	if err == nil {
		r.runtime = runtime
	}
	r.mu.Unlock()
	return errors.Join(err, p.Static.Allow(name, AlwaysRules(patterns)))
}
