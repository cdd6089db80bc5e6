package permissions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/taskt"
)

type explainOptions struct {
	agents []string
	alone  bool
	args   string
	json   bool
	expect string
}

func (p commands) explainCommand() *cobra.Command {
	var opts explainOptions
	cmd := &cobra.Command{
		Use:   "explain TOOL [ARG]",
		Short: "Show which rules match a call, which one decides, and why",
		Long: `explain shows what the rules in force say of one call: every layer, every rule
that matches with the place it is written at, and which one wins.

ARG is what the tool is about: a path, a command line, the name of an agent. Of
a tool that is not built in it is the value itself, "*" (the call as such) if
left out. --json-args gives all arguments instead.

The layers are those of a new session of --agent; given twice, the second is
called by the first. Without --agent only the policy and permissions.jsonc are asked. With
--unattended they are those of a session where nobody can be asked. The exit status is 0 whatever the answer; with --expect it is 1 if the answer differs.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.explain(args, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.agents, "agent", nil, "the agent that makes the call; again for one that it calls")
	flags.BoolVar(&opts.alone, "unattended", false, "as where nobody can be asked: blocks of rules for that count")
	flags.StringVar(&opts.args, "json-args", "", "the arguments of the call, a JSON object, instead of ARG")
	flags.BoolVar(&opts.json, "json", false, "print one JSON document")
	flags.StringVar(&opts.expect, "expect", "", "allow, ask or deny: exit with status 1 if the answer is another")
	cli.CompleteFlag(cmd, "agent", p.CompleteAgents(func(*agentdefs.Definition) bool { return true }))
	return cmd
}

func (p commands) explain(args []string, opts explainOptions) (err error) {
	var want permission.Action
	if opts.expect != "" {
		if want, err = permission.ParseAction(opts.expect); err != nil {
			return cli.Usage(fmt.Errorf("--expect: %w", err))
		}
	}
	if opts.args != "" && len(args) > 1 {
		return cli.Usage(errors.New("--json-args replaces ARG: give one of them"))
	}
	doc, err := p.explanation(args, opts, func() (*agentdefs.Snapshot, error) {
		snapshot, err := p.LoadAgents()
		if err == nil {
			p.ReportDiagnostics(snapshot)
		}
		return snapshot, err
	})
	if err != nil {
		return err
	}
	if opts.json {
		err = p.PrintJSON(doc, true)
	} else {
		err = p.printExplanation(doc)
	}
	if err != nil {
		return err
	}
	if want != 0 && doc.Action != want {
		p.Complain(fmt.Errorf("the answer is %v, expected %v", doc.Action, want))
		return cli.Failed
	}
	return nil
}

// Explain says what the rules make of a call that a person has typed.
func Explain(p *app.Program, agents *agentdefs.Snapshot, agent, name, arg string) (any, error) {
	opts := explainOptions{}
	if agent != "" {
		opts.agents = []string{agent}
	}
	args := []string{name}
	switch {
	case strings.HasPrefix(strings.TrimSpace(arg), "{"):
		opts.args = arg
	case arg != "":
		args = append(args, arg)
	}
	return commands{p}.explanation(args, opts, func() (*agentdefs.Snapshot, error) { return agents, nil })
}

// explanation makes the document of a call. snapshot returns the agents that it may name.
func (p commands) explanation(args []string, opts explainOptions, snapshot func() (*agentdefs.Snapshot, error)) (*explainDocument, error) {
	doc := &explainDocument{Tool: args[0]}
	return doc, p.evaluate(func(e *evaluator) error {
		layers, above, err := p.explainLayers(e.ws, opts, snapshot, doc)
		if err != nil {
			return err
		}
		values, err := e.valuesOf(args, opts.args)
		if err != nil {
			doc.refuse(err)
		} else {
			strict := *layers
			strict.Policies = slices.Concat(layers.Policies, above.second)
			layers.Held = e.hold(args[0], &strict)
			doc.fill(layers.Explain(values))
			doc.narrow(gate.SecondPerson(above.second, layers.Held, values), above.Lasting())
		}
		if doc.Sandbox, err = e.sandboxOf(args[0], layers); err == nil && doc.Sandbox != nil {
			if at := above.Sandboxed(); at.File != "" {
				doc.Policy = append(doc.Policy, fmt.Sprintf("the command runs in a sandbox or not at all (%s)", at))
			}
		}
		return err
	})
}

// sessionPolicy is the policy that is in force for a session.
type sessionPolicy struct {
	*policy.Policy                       // nil means there is none
	second         []*permission.Ruleset // what takes a second person
}

// explainLayers returns the layers that a new session has, and notes in doc
// where each is from.
func (p commands) explainLayers(ws *workspace.Workspace, opts explainOptions, snapshot func() (*agentdefs.Snapshot, error), doc *explainDocument) (*permission.Layers, *sessionPolicy, error) {
	doc.Layers = []layerDocument{}
	var ofAgents []layerDocument
	now, err := app.ReadInForce(p.Program, ws)
	if err != nil {
		return nil, nil, err
	}
	who := permission.Who{Unattended: opts.alone}
	var chain []*permission.Ruleset
	if len(opts.agents) > 0 {
		found, err := snapshot()
		if err != nil {
			return nil, nil, err
		}
		depth := 1
		for i, name := range opts.agents {
			def, ok := found.Agent(name)
			if !ok {
				return nil, nil, cli.Usage(fmt.Errorf("there is no agent %q; 'worker agents list' shows the agents, and what is wrong with files", name))
			}
			if i == 0 && def.Mode == agentdefs.Primary {
				depth = 0 // a session of its own, which may call task
			}
			rules, err := taskt.AgentRules(def, p.OwnRules(ws), depth, p.Settings.MaxDepth)
			if err != nil {
				return nil, nil, err
			}
			depth++
			who.Agent = def.Name
			chain = append(chain, rules)
			ofAgents = append(ofAgents, layerOf(permission.LayerAgent, name, agents.Origin(def), rules))
		}
	}
	all := now.Layers(who)
	layers := &all
	layers.Agents, layers.Callers = chain, max(0, len(chain)-1)
	for _, rules := range layers.Policies {
		for rule := range rules.Rules() {
			doc.Layers = append(doc.Layers, layerOf(permission.LayerPolicy, "", rule.Source.File+rule.Block.String(), rules))
			break
		}
	}
	for _, rules := range layers.Settings {
		for rule := range rules.Rules() {
			doc.Layers = append(doc.Layers, layerOf(permission.LayerSettings, "", rule.Source.File, rules))
			break
		}
	}
	for _, rules := range layers.Granted {
		for rule := range rules.Rules() {
			doc.Layers = append(doc.Layers, layerOf(permission.LayerRepository, "", rule.Source.File+" (trusted: what it allows)", rules))
			break
		}
	}
	doc.Layers = append(doc.Layers, ofAgents...)
	from := app.RulesFile(ws)
	if !now.Exists {
		from += " (not made yet)"
	}
	if now.Repository != nil {
		at := app.RepositoryFile(ws)
		if !now.Trusted {
			at += " (not trusted: what it allows does not count)"
		}
		doc.Layers = append(doc.Layers, layerOf(permission.LayerRepository, "", at, layers.Repository))
	}
	doc.Layers = append(doc.Layers,
		layerOf(permission.LayerDefault, "", agents.BuiltIn, layers.Defaults),
		layerOf(permission.LayerStatic, "", from, layers.Static),
		layerDocument{Layer: permission.LayerRuntime, Source: "none in a new session"})
	return layers, &sessionPolicy{now.Policy, now.Policy.SecondPerson(who)}, nil
}

// valuesOf returns the values of a call of args: a tool and ARG, or else the arguments in
// object. With an error the tool refuses them.
func (e *evaluator) valuesOf(args []string, object string) ([]permission.Value, error) {
	name := args[0]
	if object != "" {
		return e.values(name, json.RawMessage(object))
	}
	row, known := toolcatalog.Find(name)
	switch {
	case (!known || row.Own || row.Reserved) && len(args) > 1:
		return []permission.Value{{Tool: name, Text: args[1]}}, nil
	case len(args) == 1:
		return e.values(name, json.RawMessage("{}"))
	}
	raw, err := json.Marshal(map[string]string{row.Argument: args[1]})
	if err != nil {
		return nil, err
	}
	return e.values(name, raw)
}
