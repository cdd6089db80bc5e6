package app

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
)

// staticRules are the rules of permissions.jsonc, between what 'worker mcp servers trust'
// allows and the rules of --permissions and --allow.
type staticRules struct {
	file    gate.StaticRules
	servers func() []permission.Rule
	more    []permission.Rule

	mu       sync.Mutex
	of, with *permission.Ruleset // the rules of the file, and these with all others
	trusted  []permission.Rule   // of servers, in with
}

// staticRulesOf returns what the person has decided: trust in MCP servers, permissions.jsonc,
// --permissions and --allow, in this order.
func staticRulesOf(p *Program, ws *workspace.Workspace) (gate.StaticRules, error) {
	file, err := permission.OpenFile(RulesFile(ws), ws.Home)
	if err != nil {
		return nil, err
	}
	more, err := givenRules(p, ws)
	if err != nil {
		return nil, err
	}
	return &staticRules{file: file, servers: serverRules(p, ws), more: more}, nil
}

// serverRules returns the rules that the trust in MCP servers is, as of now. With
// --trust-repository a person has trusted nothing in particular, and none of them counts.
func serverRules(p *Program, ws *workspace.Workspace) func() []permission.Rule {
	if p.Settings.TrustRepository {
		return func() []permission.Rule { return nil }
	}
	return ServerTrust(p, ws).Rules
}

// ReadStatic returns the rules that the person has decided on, and whether permissions.jsonc exists.
// It writes nothing.
func ReadStatic(p *Program, ws *workspace.Workspace) (rules *permission.Ruleset, exists bool, err error) {
	if rules, exists, err = permission.ReadFile(RulesFile(ws), ws.Home); err != nil {
		return nil, exists, err
	}
	more, err := givenRules(p, ws)
	if err == nil {
		rules, err = around(serverRules(p, ws)(), rules, more)
	}
	return rules, exists, err
}

// around returns rules with others before and after them.
func around(before []permission.Rule, rules *permission.Ruleset, after []permission.Rule) (*permission.Ruleset, error) {
	if len(before) == 0 {
		return rules.Append(after...)
	}
	first, err := permission.NewRuleset(before...)
	if err != nil {
		return nil, err
	}
	return first.Append(slices.Concat(slices.Collect(rules.Rules()), after)...)
}

// givenRules are the rules of --permissions and --allow.
func givenRules(p *Program, ws *workspace.Workspace) ([]permission.Rule, error) {
	var all []permission.Rule
	if path := p.Settings.Permissions; path != "" {
		text, err := boundedfile.Read(path, maxRules)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("permissions: %w", err))
		}
		rules, err := permission.ParseJSON(text, path, &permission.ParseOptions{Home: ws.Home})
		if err != nil {
			return nil, cli.Usage(err)
		}
		for r := range rules.Rules() {
			all = append(all, r)
		}
	}
	return append(all, p.Settings.Allowed()...), nil
}

// maxRules bounds a file of rules, in bytes.
const maxRules = 4 << 20

// Rules implements [gate.StaticRules].
func (s *staticRules) Rules() (*permission.Ruleset, error) {
	rules, err := s.file.Rules()
	if rules == nil {
		return nil, err
	}
	trusted := s.servers()
	if len(trusted)+len(s.more) == 0 {
		return rules, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != rules || !slices.Equal(s.trusted, trusted) {
		with, wrong := around(trusted, rules, s.more)
		if wrong != nil {
			return nil, errors.Join(err, wrong)
		}
		s.of, s.with, s.trusted = rules, with, trusted
	}
	return s.with, err
}

// Allow implements [gate.StaticRules].
func (s *staticRules) Allow(tool string, patterns []string) error {
	return s.file.Allow(tool, patterns)
}

// RepositoryRules are the rules in a repository's own file, and the hashes of the contents
// that a person trusts.
type RepositoryRules struct {
	file  *permission.File
	trust trustedRules

	mu       sync.Mutex
	of, only *permission.Ruleset // the rules of the file, and its rules that deny or ask
}

// RepositoryFile returns where a repository has its rules.
func RepositoryFile(ws *workspace.Workspace) string {
	return filepath.Join(ws.Root, ".agents", "permissions.jsonc")
}

// NewRepositoryRules returns the rules of the workspace's repository.
func NewRepositoryRules(p *Program, ws *workspace.Workspace) *RepositoryRules {
	return &RepositoryRules{file: permission.Follow(RepositoryFile(ws), ws.Home), trust: trustedRulesOf(p, ws)}
}

// Rules implements [gate.RepositoryRules]. Without trust it leaves out the rules that allow.
func (r *RepositoryRules) Rules() (rules *permission.Ruleset, trusted bool, err error) {
	rules, text, err := r.file.RulesAndText()
	if rules == nil {
		return nil, false, err
	}
	if r.trust.always || err == nil && r.trust.has(Hash(text)) {
		return rules, true, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of != rules {
		r.of, r.only = rules, rules.Without(func(rule permission.Rule) bool { return rule.Action == permission.Allow })
	}
	return r.only, false, err
}

// Allowing is what one file of the workspace allows, once a person trusts it.
type Allowing struct {
	Path  string
	Rules []permission.Rule
	Hash  string // of its content: what is trusted
}

// allowing returns the rules of the file that allow. Without a file there is nothing.
func (r *RepositoryRules) allowing() ([]Allowing, error) {
	rules, text, err := r.file.RulesAndText()
	if err != nil || rules == nil {
		return nil, err
	}
	a := Allowing{Path: r.file.Path(), Hash: Hash(text)}
	for rule := range rules.Rules() {
		if rule.Action == permission.Allow {
			a.Rules = append(a.Rules, rule)
		}
	}
	return []Allowing{a}, nil
}
