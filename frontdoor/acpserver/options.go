package acpserver

import (
	"errors"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt/conversation"
)

// The options of a session. Clients that know no options have the agents as modes.
const (
	agentOption = "agent"
	modelOption = "model"

	ownModel = "default" // the value of modelOption for the model of the agent
)

// choice is a value that an option may have.
type choice struct{ value, description string }

// agents are the agents that a user may choose from.
func (t *talk) agents() []choice {
	var all []choice
	for _, a := range t.opts.Tasks.Primaries() {
		all = append(all, choice{a.Name, termtext.OneLine(a.Description, termtext.MaxLine)})
	}
	return withCurrent(append(all, choice{conversation.Default.Name, "the built-in agent, which works by itself and with subagents"}), t.agent())
}

// models are the models that a user may choose from.
func (t *talk) models() []choice {
	all := []choice{{ownModel, "what the agent's file or the worker's settings say"}}
	for _, name := range t.opts.Models {
		all = append(all, choice{value: name})
	}
	return withCurrent(all, t.model())
}

// withCurrent is a list without double values that has the current one.
func withCurrent(all []choice, current string) []choice {
	var list []choice
	for _, c := range append(all, choice{value: current}) {
		if !slices.ContainsFunc(list, func(o choice) bool { return o.value == c.value }) {
			list = append(list, c)
		}
	}
	return list
}

func (t *talk) model() string {
	if set, _ := t.Model(); set != "" {
		return set
	}
	return ownModel
}

// options are the options as they are.
func (t *talk) options() []acp.SessionConfigOption {
	options := []acp.SessionConfigOption{selection(agentOption, "Agent", acp.SessionConfigOptionCategoryMode, t.agents(), t.agent())}
	if t.opts.CheckModel != nil {
		options = append(options, selection(modelOption, "Model", acp.SessionConfigOptionCategoryModel, t.models(), t.model()))
	}
	return options
}

func selection(id, name string, category acp.SessionConfigOptionCategory, choices []choice, current string) acp.SessionConfigOption {
	values := acp.SessionConfigSelectOptionsUngrouped{}
	for _, c := range choices {
		value := acp.SessionConfigSelectOption{Value: acp.SessionConfigValueId(c.value), Name: termtext.OneLine(c.value, termtext.MaxTitle)}
		if c.description != "" {
			value.Description = acp.Ptr(c.description)
		}
		values = append(values, value)
	}
	return acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{
		Id: acp.SessionConfigId(id), Name: name, Category: &category, Type: "select",
		CurrentValue: acp.SessionConfigValueId(current), Options: acp.SessionConfigSelectOptions{Ungrouped: &values},
	}}
}

// modes are the agents, as clients know them that know no options.
func (t *talk) modes() *acp.SessionModeState {
	state := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(t.agent())}
	for _, c := range t.agents() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{
			Id: acp.SessionModeId(c.value), Name: termtext.OneLine(c.value, termtext.MaxTitle), Description: acp.Ptr(c.description),
		})
	}
	return state
}

// setAgent has the next prompt go to another agent.
func (t *talk) setAgent(name string) error {
	def, err := conversation.Find(t.opts.Agents.Snapshot(), name)
	if err != nil {
		return invalid(err)
	}
	t.SetAgent(def)
	t.become("")
	return nil
}

// setModel has the next prompt go to another model.
func (t *talk) setModel(name string) error {
	switch {
	case name == ownModel:
		name = ""
	case t.opts.CheckModel == nil:
		return invalid(errors.New("this worker does not let clients choose models"))
	default:
		if err := t.opts.CheckModel(name); err != nil {
			return invalid(errors.New(t.opts.Explain(err)))
		}
	}
	t.SetModel(name)
	return nil
}
