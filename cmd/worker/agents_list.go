package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
)

type listOptions struct {
	all, json, watch, wide bool
}

func (p *program) agentsListCommand() *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents; what is wrong with agent files goes to stderr",
		Long: `Lists the agents of the workspace. Agents that are not served have a row too, whose
state says why: refused, duplicate, replaced, off or no description, with the code of
the diagnostic that says more.

MAY is what an agent's own rules let it do. The rules of permissions.jsonc and your
answers come after them; only what an agent's rules deny is final.

With --watch the table is printed again whenever files change, until Ctrl-C.`,
		Example: `  worker agents list
  worker agents list --json | jq -r '.agents[].name'
  worker agents list --watch`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.watch {
				return p.watchAgents(cmd.Context(), opts)
			}
			snapshot, err := p.loadAgents()
			if err != nil {
				return err
			}
			p.reportDiagnostics(snapshot)
			p.reportUnread(snapshot)
			if opts.json {
				return p.printJSON(newAgentsDocument(snapshot), true)
			}
			return p.tableAgents(snapshot, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "list hidden agents too")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print agents and diagnostics as one JSON document")
	cmd.Flags().BoolVar(&opts.watch, "watch", false, "print again with every change; with --json one document a line")
	registerWide(cmd, &opts.wide)
	return cmd
}

// agentRow is a line of the table.
type agentRow struct{ name, mode, steps, source, may, state, description string }

// tableAgents prints the agents that are served and those that are not.
func (p *program) tableAgents(snapshot *agentdefs.Snapshot, opts listOptions) error {
	var rows []agentRow
	for _, d := range snapshot.Agents() {
		if d.Hidden && !opts.all {
			continue
		}
		rows = append(rows, agentRow{d.Name, string(d.Mode), strconv.Itoa(d.MaxSteps), source(d), d.May(), agentState(d), d.Description})
	}
	for _, u := range snapshot.Unserved() {
		rows = append(rows, agentRow{u.Name, "-", "-", u.File, "-", unservedState(u), u.Reason})
	}
	slices.SortStableFunc(rows, func(a, b agentRow) int { return cmp.Compare(a.name, b.name) })
	t := &table{
		header: []string{"NAME", "MODE", "STEPS", "SOURCE", "MAY", "STATE", "DESCRIPTION"},
		drop:   []string{"STEPS", "MODE", "SOURCE"},
		colors: func(row []string) color {
			switch {
			case slices.Contains(row, "ok"):
				return green
			case slices.ContainsFunc(row, func(s string) bool { return strings.HasPrefix(s, "refused") }):
				return red
			}
			return yellow
		},
	}
	description := 80
	if opts.wide {
		description = 300
	}
	for _, r := range rows {
		t.add(termtext.OneLine(r.name, 60), r.mode, r.steps, termtext.OneLine(r.source, 200),
			termtext.OneLine(r.may, 80), r.state, termtext.OneLine(r.description, description))
	}
	return p.printTable(t, opts.wide)
}

// unservedState says in a word why an agent is not served, with the code of the
// diagnostic that says more.
func unservedState(u agentdefs.Unserved) string {
	word := "refused"
	switch u.Code {
	case "name-duplicate":
		word = "duplicate"
	case "agent-shadows", "agent-shadows-builtin":
		word = "replaced"
	case "agent-disabled":
		word = "off"
	case "description-missing":
		word = "no description"
	}
	return word + " (" + u.Code + ")"
}
