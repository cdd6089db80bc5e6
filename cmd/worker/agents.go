package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/permission"
)

func (p *program) agentsCommand() *cobra.Command {
	return group("agents", "Look at the agents of this workspace", p.agentsListCommand(), p.agentsShowCommand())
}

func (p *program) agentsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents; what is wrong with agent files goes to stderr",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			snapshot, err := p.loadAgents()
			if err != nil {
				return err
			}
			p.reportDiagnostics(snapshot)
			return p.listAgents(snapshot, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print agents and diagnostics as one JSON document")
	return cmd
}

func (p *program) agentsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show an agent as it was resolved",
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeAgents(func(*agentdefs.Definition) bool { return true }),
		RunE: func(_ *cobra.Command, args []string) error {
			snapshot, err := p.loadAgents()
			if err != nil {
				return err
			}
			def, ok := snapshot.Agent(args[0])
			if !ok {
				return usageError{fmt.Errorf("there is no agent %q; 'worker agents list' shows those there are, and what is wrong with the others", args[0])}
			}
			return p.showAgent(def, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the agent as one JSON document")
	return cmd
}

func (p *program) loadAgents() (*agentdefs.Snapshot, error) {
	ws, err := p.workspace()
	if err != nil {
		return nil, err
	}
	return agentdefs.Load(ws.Root, &agentdefs.Options{Nesting: p.settings.maxDepth > 1, Home: ws.Home, Logger: p.logger()})
}

// agentDocument is an agent as --json prints it.
type agentDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Mode        agentdefs.Mode `json:"mode"`
	MaxSteps    int            `json:"maxSteps"`
	Source      string         `json:"source"`
	Permission  []ruleDocument `json:"permission"` // in the order in which the last match wins
	Prompt      string         `json:"prompt"`
}

type ruleDocument struct {
	Tool    string            `json:"tool"`
	Pattern string            `json:"pattern"`
	Action  permission.Action `json:"action"`
	Source  string            `json:"source"`
}

func newAgentDocument(d *agentdefs.Definition) agentDocument {
	doc := agentDocument{
		Name: d.Name, Description: d.Description, Mode: d.Mode, MaxSteps: d.MaxSteps,
		Source: source(d), Permission: []ruleDocument{}, Prompt: d.Prompt,
	}
	for r := range d.Permission.Rules() {
		doc.Permission = append(doc.Permission, ruleDocument{r.Tool, r.Pattern, r.Action, r.Source.String()})
	}
	return doc
}

func source(d *agentdefs.Definition) string {
	if d.BuiltIn {
		return "built in"
	}
	return d.File
}

func (p *program) listAgents(snapshot *agentdefs.Snapshot, asJSON bool) error {
	if asJSON {
		doc := struct {
			Folder      string                 `json:"folder"` // empty: no agent folder
			Agents      []agentDocument        `json:"agents"`
			Diagnostics []agentdefs.Diagnostic `json:"diagnostics"`
		}{snapshot.Dir(), []agentDocument{}, append([]agentdefs.Diagnostic{}, snapshot.Diagnostics()...)}
		for _, d := range snapshot.Agents() {
			doc.Agents = append(doc.Agents, newAgentDocument(d))
		}
		return p.printJSON(doc, true)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODE\tSTEPS\tSOURCE\tDESCRIPTION")
	for _, d := range snapshot.Agents() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", eventbus.OneLine(d.Name, 60), d.Mode, d.MaxSteps, source(d), eventbus.OneLine(d.Description, 80))
	}
	return w.Flush()
}

func (p *program) showAgent(d *agentdefs.Definition, asJSON bool) error {
	doc := newAgentDocument(d)
	if asJSON {
		return p.printJSON(doc, true)
	}
	fmt.Fprintf(p.stdout, "%s (%s, %d steps, %s)\n%s\n\npermission, the last match wins:\n",
		eventbus.OneLine(doc.Name, 200), doc.Mode, doc.MaxSteps, eventbus.OneLine(doc.Source, 500), eventbus.Printable(doc.Description))
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, r := range doc.Permission {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Action, eventbus.OneLine(r.Tool, 200), eventbus.OneLine(r.Pattern, 500), eventbus.OneLine(r.Source, 500))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "\nprompt:\n%s\n", eventbus.Printable(doc.Prompt))
	return err
}

// completeAgents completes, for the shell, the names of those agents that want
// accepts.
func (p *program) completeAgents(want func(*agentdefs.Definition) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || p.settings.resolve(cmd.Flags(), p.getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.agentNames(want), cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *program) agentNames(want func(*agentdefs.Definition) bool) []string {
	snapshot, err := p.loadAgents()
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range snapshot.Agents() {
		if !want(d) {
			continue
		}
		names = append(names, d.Name+"\t"+eventbus.OneLine(d.Description, 80))
	}
	return names
}
