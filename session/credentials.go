package session

import (
	"fmt"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
)

// credentialed is a model that is called with the credentials of an agent.
type credentialed struct {
	model.Model
	agent string
}

// gateOf names what a provider lets wait: an account, where the model tells it, else the
// model with the credentials that it is called with.
func gateOf(m model.Model) string {
	c, own := m.(credentialed)
	if own {
		m = c.Model
	}
	switch a, ok := m.(model.Accounted); {
	case ok:
		return a.Account()
	case own:
		return c.Name() + " with the key of " + c.agent
	}
	return m.Name()
}

// modelFor returns the model of a name for an agent, with its own credentials if it has
// any for it.
func (m *Manager) modelFor(agent, name string) (model.Model, error) {
	if found, ok, err := m.ownModel(agent, name); ok {
		return found, err
	}
	return m.model(name)
}

func (m *Manager) ownModel(agent, name string) (model.Model, bool, error) {
	if m.own == nil {
		return nil, false, nil
	}
	found, ok, err := m.own(agent, name)
	if !ok || err != nil {
		return nil, ok, err
	}
	return credentialed{found, agent}, true, nil
}

// modelOf returns the model of a session that is to be opened, and why those are not
// used that come before it.
func (m *Manager) modelOf(spec Spec) (found model.Model, warnings []string, err error) {
	pass := func(name string, err error) {
		warnings = append(warnings, fmt.Sprintf("the model %.200q is not used: %s", name, errtext.Of(err)))
	}
	for _, name := range spec.Models {
		if found, err = m.modelFor(spec.Agent, name); err == nil {
			return found, warnings, nil
		}
		pass(name, err)
	}
	if p := spec.Parent; p != nil && p.model != nil {
		found, why, err := m.inherited(spec.Agent, p.model)
		if why != nil {
			pass(p.model.Name(), why)
		}
		if err == nil {
			return found, warnings, nil
		}
		pass(p.model.Name(), err)
	}
	found, ok, why := m.ownModel(spec.Agent, "")
	if ok && why == nil {
		return found, warnings, nil
	}
	if why != nil {
		pass("default", why)
	}
	found, err = m.model("")
	return found, warnings, err
}

// inherited returns the model of a caller for an agent: with its own credentials, else
// with those of all, and never with the caller's own. why is what is wrong with its own.
func (m *Manager) inherited(agent string, of model.Model) (found model.Model, why, err error) {
	found, ok, why := m.ownModel(agent, of.Name())
	if ok && why == nil {
		return found, nil, nil
	}
	if _, theirs := of.(credentialed); theirs {
		of, err = m.model(of.Name())
	}
	return of, why, err
}
