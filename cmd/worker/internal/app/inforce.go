package app

import (
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
)

// InForce are the rules that a new session has beside those of its agents.
type InForce struct {
	Policy     *policy.Policy // nil means there is none
	Static     *permission.Ruleset
	Exists     bool                  // permissions.jsonc
	Repository *permission.Ruleset   // nil means that the repository has none
	Trusted    bool                  // a person has accepted those of the repository
	Settings   []*permission.Ruleset // of other programs
	Granted    []*permission.Ruleset // what a person has accepted of those
}

// ReadInForce reads the rules that are in force now. It writes nothing.
func ReadInForce(p *Program, ws *workspace.Workspace) (*InForce, error) {
	above, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	r := &InForce{}
	if r.Policy, err = above.Current(); err != nil {
		return nil, err
	}
	if r.Static, r.Exists, err = ReadStatic(p, ws); err != nil {
		return nil, err
	}
	if r.Repository, r.Trusted, err = NewRepositoryRules(p, ws).Rules(); err != nil {
		return nil, err
	}
	if r.Settings, r.Granted, err = NewSettingsRules(p, ws, nil).Rules(); err != nil {
		return nil, err
	}
	return r, nil
}

// Layers returns the rules for a session, without those of agents. Of nil they deny
// everything, as sessions do while the rules can't be read.
func (r *InForce) Layers(who permission.Who) permission.Layers {
	if r == nil {
		return permission.Layers{Policies: []*permission.Ruleset{permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Deny})}}
	}
	return permission.Layers{
		Policies: r.Policy.Rules(who), Settings: r.Settings, Granted: r.Granted, Defaults: permission.Defaults(), Static: r.Static.For(who),
		Repository: r.Repository.For(who), Trusted: r.Trusted,
	}
}
