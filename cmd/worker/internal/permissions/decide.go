package permissions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// evalCall is one call, in JSON. Unknown keys are ignored, such as those with the
// expectation of a test.
type evalCall struct {
	Policy  json.RawMessage // one ruleset; null: no policy
	Agent   json.RawMessage // likewise
	Static  json.RawMessage
	Rules   json.RawMessage // another name of Static
	Runtime [][]string      // pairs of a tool and a pattern that "always" has allowed

	AgentName  string // for which agent's session blocks of rules are chosen
	Unattended bool   // and whether anybody can be asked there

	Tool   string
	Args   json.RawMessage
	Values []string // nil means those of Args
}

// evalAnswer is a line of eval's output.
type evalAnswer struct {
	Action permission.Action `json:"action"`
	Layer  permission.Layer  `json:"layer"` // layerTool: the tool refuses the arguments
	Rule   *evalRule         `json:"rule"`  // null: none decided

	// Values are the texts that count for the answer. One that can only refuse the call is
	// among them if it did.
	Values []string `json:"values"`
	Reason string   `json:"reason,omitempty"` // why the tool refuses

	// Held are files that rules deny, and that the sandbox keeps from a line of
	// the shell: see heldFiles.
	Held []string `json:"held,omitempty"`
}

type evalRule struct {
	Tool    string            `json:"tool"`
	Pattern string            `json:"pattern"`
	Action  permission.Action `json:"action"`
}

// layerTool is the layer of a call that the tool itself refuses.
const layerTool permission.Layer = "tool"

// decide decides one call.
func (e *evaluator) decide(line []byte) (any, error) {
	var call evalCall
	if err := json.Unmarshal(line, &call); err != nil {
		return nil, err
	}
	layers, err := e.evalLayers(&call)
	if err != nil {
		return nil, err
	}
	values, err := e.evalValues(&call)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return evalAnswer{Action: permission.Deny, Layer: layerTool, Values: []string{}, Reason: refused.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	held := e.hold(call.Tool, layers)
	d := layers.Decide(values)
	answer := evalAnswer{Action: d.Action, Layer: d.Layer, Values: []string{}}
	if held {
		answer.Held = e.heldFiles(layers, call.Args)
	}
	if d.Rule != nil {
		answer.Rule = &evalRule{d.Rule.Tool, d.Rule.Pattern, d.Rule.Action}
	}
	for _, v := range values {
		if !v.OnlyDenies() || v == d.Value {
			answer.Values = append(answer.Values, v.Text)
		}
	}
	return answer, nil
}

func (e *evaluator) evalLayers(call *evalCall) (*permission.Layers, error) {
	var layers permission.Layers
	if call.Static != nil && call.Rules != nil {
		return nil, errors.New(`"rules" is another name of "static": give one of them`)
	}
	if call.Static == nil {
		call.Static = call.Rules
	}
	opts := &permission.ParseOptions{Home: e.ws.Home}
	who := permission.Who{Agent: call.AgentName, Unattended: call.Unattended}
	if given(call.Policy) {
		rules, err := permission.ParseJSON(call.Policy, "policy", opts)
		if err != nil {
			return nil, err
		}
		blocks, apart := rules.Apart()
		for i, b := range blocks {
			if b.Has(who) {
				layers.Policies = append(layers.Policies, apart[i])
			}
		}
	}
	if given(call.Agent) {
		agent, err := permission.ParseJSON(call.Agent, "agent", opts)
		if err != nil {
			return nil, err
		}
		layers.Agents = []*permission.Ruleset{agent.For(who)}
	}
	if given(call.Static) {
		static, err := permission.ParseJSON(call.Static, "static", opts)
		if err != nil {
			return nil, err
		}
		layers.Static = static.For(who)
	}
	var rules []permission.Rule
	for i, pair := range call.Runtime {
		if len(pair) != 2 {
			return nil, fmt.Errorf("runtime: want pairs [tool, pattern], got %d texts in the pair %d", len(pair), i+1)
		}
		rules = append(rules, permission.Rule{Tool: pair[0], Pattern: pair[1], Action: permission.Allow, Source: permission.Source{File: "runtime"}})
	}
	var err error
	layers.Runtime, err = permission.NewRuleset(rules...)
	return &layers, err
}

// given reports whether there is a value that is not null.
func given(raw json.RawMessage) bool { return raw != nil && !bytes.Equal(raw, []byte("null")) }

// refusal is the error of a tool that refuses its arguments.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func (e *evaluator) evalValues(call *evalCall) ([]permission.Value, error) {
	switch {
	case call.Tool == "":
		return nil, errors.New(`want "tool", the name of a tool`)
	case call.Values != nil && call.Args != nil:
		return nil, errors.New(`"values" replace "args": give one of them`)
	case call.Values == nil && call.Args == nil:
		return nil, errors.New(`want "args" or "values"`)
	case call.Values == nil:
		values, err := e.values(call.Tool, call.Args)
		if err != nil {
			return nil, &refusal{err}
		}
		return values, nil
	case len(call.Values) == 0: // the call as such
		return []permission.Value{{Tool: call.Tool, Text: "*"}}, nil
	}
	values := make([]permission.Value, len(call.Values))
	for i, text := range call.Values {
		values[i] = permission.Value{Tool: call.Tool, Text: text}
	}
	return values, nil
}

// analyse analyses one command line.
func (e *evaluator) analyse(line []byte) (any, error) {
	var in struct{ Command string }
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	const name = toolcatalog.ShellExec
	values, err := shell.Values(permission.Workspace{Root: e.ws.Root, Home: e.ws.Home}, name, in.Command)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Patterns []string `json:"patterns"` // the commands, as they are written
		Always   []string `json:"always"`
	}{[]string{}, append([]string{}, shell.AlwaysPatterns(name, values)...)}
	for _, v := range values {
		if v.Tool == name && !v.OnlyDenies() && v.Written != "" {
			answer.Patterns = append(answer.Patterns, v.Written)
		}
	}
	return answer, nil
}
