package models

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
)

// Models are the models of a process's sessions. It is safe for concurrent use; its fields do
// not change.
type Models struct {
	// Named returns the model of a name; the empty name is the default's.
	Named func(name string) (model.Model, error)

	// Own returns the model of a name with an agent's own credentials. It returns false if
	// the agent has none for that model; then the agent gets that of Named. A nil Own means
	// that no agent has any.
	Own func(agent, name string) (model.Model, bool, error)

	// Defaults are names of models for sessions that name none, the best first. Without any such
	// sessions get the model of the empty name.
	Defaults []string

	Prices *price.Table // if it is nil, no price is known

	pauses    pauses
	cooldowns cooldowns
	windows   windows
}

// credentialed is a model with the credentials of an agent.
type credentialed struct {
	model.Model
	agent string
}

// accountOf names the account that a provider limits. For a model that does not know its
// account this is the model's name and credentials.
func accountOf(m model.Model) string {
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

// For returns the model of a name for an agent, with the agent's own credentials if it has
// any for that model.
func (m *Models) For(agent, name string) (model.Model, error) {
	if found, ok, err := m.own(agent, name); ok {
		return found, err
	}
	return m.Named(name)
}

func (m *Models) own(agent, name string) (model.Model, bool, error) {
	if m.Own == nil {
		return nil, false, nil
	}
	found, ok, err := m.Own(agent, name)
	if !ok || err != nil {
		return nil, ok, err
	}
	return credentialed{found, agent}, true, nil
}

// Pick returns the model of an agent's session. It is the first of names that is available, else
// its caller's, else the first of the defaults. rest are the names after it in its list. Warnings
// give the reason for each model that was passed over.
func (m *Models) Pick(agent string, names []string, caller Inherited) (found model.Model, rest, warnings []string, err error) {
	pass := func(name string, err error) {
		warnings = append(warnings, fmt.Sprintf("the model %.200q is not used: %s", name, errtext.Of(err)))
	}
	if found, rest = m.First(agent, names, pass); found != nil {
		return found, rest, warnings, nil
	}
	if caller.Model != nil {
		if why := m.cools(caller.Model); why != nil && len(caller.Rest) > 0 {
			pass(caller.Model.Name(), why)
			if found, rest = m.First(agent, caller.Rest, pass); found != nil {
				return found, rest, warnings, nil
			}
		}
		found, why, err := m.inherited(agent, caller.Model)
		if why != nil {
			pass(caller.Model.Name(), why)
		}
		if err == nil {
			return found, caller.Rest, warnings, nil
		}
		pass(caller.Model.Name(), err)
	}
	if found, rest = m.First(agent, m.Defaults, pass); found != nil {
		return found, rest, warnings, nil
	}
	found, ok, why := m.own(agent, "")
	if ok && why == nil {
		return found, nil, warnings, nil
	}
	if why != nil {
		pass("default", why)
	}
	found, err = m.Named("")
	return found, nil, warnings, err
}

// First returns the first model of a list that is available to an agent, and the names after it.
// nil means that no model is available. It tells pass why one is not. The last name of a list is available although
// its model has failed a moment ago, but not if its provider does not know it.
func (m *Models) First(agent string, names []string, pass func(name string, err error)) (found model.Model, rest []string) {
	for i, name := range names {
		found, err := m.For(agent, name)
		if err == nil {
			if err = m.cools(found); err == errCools && i+1 == len(names) {
				err = nil
			}
		}
		if err == nil {
			return found, names[i+1:]
		}
		pass(name, err)
	}
	return nil, nil
}

// inherited returns the model of a caller for an agent. It has the agent's own credentials, or
// the shared ones, and never the caller's own. why is the fault of the agent's own.
func (m *Models) inherited(agent string, of model.Model) (found model.Model, why, err error) {
	found, ok, why := m.own(agent, of.Name())
	if ok && why == nil {
		return found, nil, nil
	}
	if _, theirs := of.(credentialed); theirs {
		of, err = m.Named(of.Name())
	}
	return of, why, err
}

// Priced adds the cost of a model call to its usage, if the price is known.
func (m *Models) Priced(by model.Model, u model.Usage) model.Usage {
	if name := by.Name(); m.Prices.Known(name) {
		u.Cost = m.Prices.Cost(name, u).Number()
	}
	return u
}

// leastAnswer is the room that an answer gets in a window that is about full, in tokens: the prompt
// is estimated rather too long.
const leastAnswer = 1024

// LongestAnswer returns how many tokens a model's answer may have beside a prompt of about so many.
// 0 means that this is not known. So does a window of 0 tokens.
func (m *Models) LongestAnswer(of model.Model, window, prompt int64) int {
	most := m.Prices.Row(of.Name()).Output
	if named := m.Window(of); named > 0 {
		window = named
	}
	if window > 0 {
		most = min(most, max(leastAnswer, window-prompt))
	}
	return int(most)
}

// Answer asks a model for an answer without tools, within limits, and returns what the call has used.
func (m *Models) Answer(ctx context.Context, by model.Model, req *model.Request, limits Limits) (answer string, usage model.Usage, err error) {
	var text strings.Builder
	stopped := false
	for part, err := range limits.Stream(ctx, by, req) {
		if err != nil {
			return "", usage, err
		}
		switch part := part.(type) {
		case model.TextDelta:
			text.WriteString(part.Text)
		case model.TextWasReasoning:
			text.Reset()
		case model.Usage:
			usage = m.Priced(by, part)
		case model.Stop:
			stopped = true
		}
	}
	if !stopped || strings.TrimSpace(text.String()) == "" {
		return "", usage, errors.New("the model gave no answer")
	}
	return text.String(), usage, nil
}
