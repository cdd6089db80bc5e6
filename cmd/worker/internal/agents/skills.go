package agents

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/taskt/skilltool"
)

// SkillCommands returns 'worker skills'.
func SkillCommands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("skills", "Look at the skills of this workspace and of yourself", p.listSkillsCommand())
}

// skillDocument is a skill as --json prints it.
type skillDocument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`          // its file
	State       string `json:"state"`           // ok, or hidden: no model may load it
	Agent       string `json:"agent,omitempty"` // of the subagent that it is meant for
	Fork        bool   `json:"fork,omitempty"`  // it is meant for a subagent
}

func (p commands) listSkillsCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills; what is wrong with their files goes to stderr",
		Long: `Lists the skills that agents may load, unless rules deny them: those in .agents/skills,
.claude/skills and .github/skills of the workspace, and in ~/.agents/skills and
~/.claude/skills. One that its file hides from models has the state hidden.`,
		Example: `  worker skills list
  worker skills list --json | jq -r '.skills[].name'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			if _, err := p.OpenPolicy(); err != nil {
				return err
			}
			set := app.Skills(p.Program, ws).Current()
			docs := make([]skillDocument, 0, len(set.All()))
			for _, s := range set.All() {
				state := "ok"
				if s.NoModel {
					state = "hidden"
				}
				docs = append(docs, skillDocument{s.Name, s.Description, s.File, state, s.Agent, s.Fork})
			}
			if asJSON {
				return p.PrintJSON(struct {
					Skills      []skillDocument     `json:"skills"`
					Diagnostics []skills.Diagnostic `json:"diagnostics"`
				}{docs, append([]skills.Diagnostic{}, set.Diagnostics()...)}, true)
			}
			for _, d := range agentdefs.EachOnce(set.Diagnostics()) {
				if d.Severity != agentdefs.Information {
					fmt.Fprintln(p.Stderr, termtext.OneLine(d.String(), termtext.MaxText))
				}
			}
			return p.tableSkills(docs, wide)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print skills and diagnostics as one JSON document")
	app.RegisterWide(cmd, &wide)
	return cmd
}

func (p commands) tableSkills(docs []skillDocument, wide bool) error {
	t := &terminal.Table{
		Header: []string{"NAME", "SOURCE", "STATE", "DESCRIPTION"},
		Drop:   []string{"STATE"},
		Colors: func(row []string) terminal.Color {
			if row[2] == "ok" {
				return terminal.Green
			}
			return terminal.Yellow
		},
	}
	description := 80
	if wide {
		description = 300
	}
	for _, d := range docs {
		t.Add(termtext.OneLine(d.Name, termtext.MaxName), termtext.OneLine(d.Source, termtext.MaxLabel), d.State, termtext.OneLine(d.Description, description))
	}
	return p.PrintTable(t, wide)
}

// offered returns the skills that an agent has by its own rules and the defaults.
func (p commands) offered(d *agentdefs.Definition, ws *workspace.Workspace) *skilltool.Offer {
	rules := skilltool.Layers{Layers: &permission.Layers{Agents: []*permission.Ruleset{d.Permission}, Defaults: permission.Defaults()}}
	return skilltool.Choose(app.Skills(p.Program, ws).Current(), d.Skills, permission.Workspace{Root: ws.Root, Home: ws.Home}, rules)
}

// sayOffer names the skills of an offer.
func sayOffer(o *skilltool.Offer) string {
	var parts, names []string
	for _, s := range o.Usable {
		names = append(names, s.Name)
	}
	if len(names) > 0 {
		parts = append(parts, strings.Join(names, ", "))
	}
	for _, s := range o.Preloaded {
		parts = append(parts, s.Name+" is loaded from the start")
	}
	if len(o.Missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(o.Missing, ", "))
	}
	return strings.Join(parts, "; ")
}
