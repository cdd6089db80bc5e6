package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
)

type listOptions struct {
	all, json, watch, wide bool
}

func (p commands) listCommand() *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents; what is wrong with agent files goes to stderr",
		Long: `Lists the agents of the workspace. Agents that are not served have a row too, whose
state says why: refused, duplicate, replaced, off or no description, with the code of
the diagnostic that says more.

MAY is what a session of the agent may do now: by the policy, the agent's rules, the
repository's, yours in permissions.jsonc, and the defaults. An agent that calls it can
only narrow that. Files with secrets, which the defaults deny, are left out.

With --watch the table is printed again whenever files change, until Ctrl-C.`,
		Example: `  worker agents list
  worker agents list --json | jq -r '.agents[].name'
  worker agents list --watch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.watch {
				return p.watchAgents(cmd.Context(), opts)
			}
			snapshot, err := p.LoadAgents()
			if err != nil {
				return err
			}
			p.ReportDiagnostics(snapshot)
			if len(snapshot.Unread()) > 0 {
				app.ReportFolders(p.Program, snapshot)
			}
			rules, err := p.rules()
			if err != nil {
				return err
			}
			if opts.json {
				return p.PrintJSON(NewSnapshot(snapshot, rules), true)
			}
			return p.tableAgents(snapshot, rules, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "list hidden agents too")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print agents and diagnostics as one JSON document")
	cmd.Flags().BoolVar(&opts.watch, "watch", false, "print again with every change; with --json one document a line")
	app.RegisterWide(cmd, &opts.wide)
	return cmd
}

// codeColumns is how wide a terminal is where a state has the code of its diagnostic.
const codeColumns = 120

// agentRow is a line of the table.
type agentRow struct{ name, mode, steps, source, may, state, description string }

// rules returns the rules in force in the workspace.
func (p commands) rules() (*app.InForce, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	return app.ReadInForce(p.Program, ws)
}

// tableAgents prints all agents, served or not.
func (p commands) tableAgents(snapshot *agentdefs.Snapshot, rules *app.InForce, opts listOptions) error {
	var rows []agentRow
	for _, d := range snapshot.Agents() {
		if d.Hidden && !opts.all {
			continue
		}
		rows = append(rows, agentRow{d.Name, string(d.Mode), strconv.Itoa(d.MaxSteps), Origin(d), may(d, rules), State(d), d.Description})
	}
	for _, u := range snapshot.Unserved() {
		rows = append(rows, agentRow{u.Name, "-", "-", u.File, "-", unservedState(u), u.Reason})
	}
	slices.SortStableFunc(rows, func(a, b agentRow) int { return cmp.Compare(a.name, b.name) })
	t := &terminal.Table{
		Header: []string{"NAME", "MODE", "STEPS", "SOURCE", "MAY", "STATE", "DESCRIPTION"},
		Drop:   []string{"STEPS", "MODE", "DESCRIPTION", "MAY"},
		Colors: func(row []string) terminal.Color {
			switch {
			case slices.Contains(row, "ok"):
				return terminal.Green
			case slices.ContainsFunc(row, func(s string) bool { return strings.HasPrefix(s, "refused") }):
				return terminal.Red
			}
			return terminal.Yellow
		},
	}
	may, description := 80, 80
	switch {
	case opts.wide:
		description = 300
	case p.OutTerm.IsTerminal():
		may = 40
		if p.OutTerm.Columns() < codeColumns {
			for i, r := range rows {
				rows[i].state, _, _ = strings.Cut(r.state, " (")
			}
		}
	}
	for _, r := range rows {
		t.Add(termtext.OneLine(r.name, termtext.MaxName), r.mode, r.steps, termtext.OneLine(r.source, termtext.MaxLabel),
			termtext.OneLine(r.may, may), r.state, termtext.OneLine(r.description, description))
	}
	return p.PrintTable(t, opts.wide)
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

// clearScreen moves a terminal's cursor to the top and clears what is below.
const clearScreen = "\x1b[H\x1b[2J"

// watchAgents prints the agents again with every new snapshot, until ctx ends. It opens
// only the agent files, so a worker may run at the same time.
func (p commands) watchAgents(ctx context.Context, opts listOptions) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	opened, err := p.AgentOptions(ws)
	if err != nil {
		return err
	}
	opened.Logger = nil // the output says all that would be logged
	agents, err := agentdefs.Open(ctx, ws.Root, opened)
	if err != nil {
		return err
	}
	defer agents.Close()
	first := true
	for c := range agents.Changes(ctx) {
		rules, err := app.ReadInForce(p.Program, ws)
		switch {
		case err != nil:
		case opts.json:
			err = p.PrintJSON(newWatchDocument(c, rules, first), false)
		default:
			err = p.showChange(c, rules, first, opts)
		}
		if err != nil {
			return err
		}
		first = false
	}
	return ctx.Err()
}

func (p commands) showChange(c agentdefs.Change, rules *app.InForce, first bool, opts listOptions) error {
	if p.OutTerm.Redraws {
		fmt.Fprint(p.Stdout, clearScreen)
	}
	if err := p.tableAgents(c.Snapshot, rules, opts); err != nil {
		return err
	}
	if !first {
		if _, err := fmt.Fprintln(p.Stdout, changeLine(c)); err != nil {
			return err
		}
	}
	p.ReportDiagnostics(c.Snapshot)
	return nil
}

// changeLine says in one line which agents have changed.
func changeLine(c agentdefs.Change) string {
	var parts []string
	for _, group := range []struct {
		word  string
		names []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"removed", c.Removed}} {
		if len(group.names) > 0 {
			parts = append(parts, group.word+": "+termtext.OneLine(strings.Join(group.names, ", "), termtext.MaxLabel))
		}
	}
	if len(parts) == 0 {
		return "no agent has changed, only the diagnostics of files"
	}
	return strings.Join(parts, "; ")
}

// watchDocument is a snapshot as --watch --json prints it, in one line.
type watchDocument struct {
	Version uint64   `json:"version"` // counts the snapshots from 1
	Added   []string `json:"added"`   // empty for the first one, as are the next two
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
	Snapshot
}

func newWatchDocument(c agentdefs.Change, rules *app.InForce, first bool) watchDocument {
	doc := watchDocument{c.Snapshot.Version, []string{}, append([]string{}, c.Changed...), append([]string{}, c.Removed...), NewSnapshot(c.Snapshot, rules)}
	if !first {
		doc.Added = append(doc.Added, c.Added...)
	}
	return doc
}
