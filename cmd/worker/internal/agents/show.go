package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/skilltool"
	"github.com/agentworker/worker/tool/mcpclient"
)

func (p commands) showCommand() *cobra.Command {
	var asJSON, promptAlone bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent with all that its file resolves to",
		Long: `Shows the agent that a task call would get by NAME, in any case or by an alias: what
its file amounts to, each rule with the line that it comes from, and the whole system
prompt that its model reads. With --prompt it prints that prompt alone, each part below a
line with its source: a file and its lines, or whose text it is, and the bytes.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteAgents(func(*agentdefs.Definition) bool { return true }),
		RunE: func(_ *cobra.Command, args []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			snapshot, err := p.LoadAgents()
			if err != nil {
				return err
			}
			d, candidates := snapshot.Resolve(args[0])
			if d == nil {
				d = snapshot.Special(args[0])
			}
			if d == nil {
				return p.noAgent(snapshot, args[0], candidates)
			}
			p.reportOf(snapshot, d.File)
			rules, err := app.ReadInForce(p.Program, ws)
			if err != nil {
				return err
			}
			offer := p.offered(d, ws)
			at := p.setting(d, ws, rules)
			at.Skills = offer.Section()
			switch {
			case promptAlone && asJSON:
				return p.PrintJSON(struct {
					Parts []taskt.Part `json:"parts"`
				}{taskt.PromptParts(d, at)}, true)
			case promptAlone:
				return p.printPrompt(taskt.PromptParts(d, at))
			case asJSON:
				return p.PrintJSON(struct {
					Agent
					SystemPrompt string `json:"systemPrompt"`
				}{NewAgent(d, rules), taskt.SystemPrompt(d, at)}, true)
			}
			return p.showAgent(d, may(d, rules), taskt.SystemPrompt(d, at), sayOffer(offer), app.NewServers(p.Program, ws))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the agent as one JSON document")
	cmd.Flags().BoolVar(&promptAlone, "prompt", false, "print the system prompt alone, with the source of each part")
	return cmd
}

// setting is where the agent runs in a session of its own, without its skills.
func (p commands) setting(d *agentdefs.Definition, ws *workspace.Workspace, rules *app.InForce) taskt.Setting {
	layers := rules.Layers(permission.Who{Agent: d.Name})
	layers.Agents = []*permission.Ruleset{d.Permission}
	may := taskt.Readable(permission.Workspace{Root: ws.Root, Home: ws.Home}, skilltool.Layers{Layers: &layers}.Withheld)
	at := taskt.Setting{
		Root: ws.Root, Child: d.Mode != agentdefs.Primary, Text: app.Instructions(p.Program, ws, p.Logger()).Current().Keep(may),
		Shell: p.Shell(), Today: time.Now(),
	}
	if d.Memory {
		at.Memory = memory.New(filepath.Join(ws.StateDir, memory.FileName), p.Logger()).Current()
	}
	return at
}

// printPrompt prints the parts of a prompt, each below a line with its source.
func (p commands) printPrompt(parts []taskt.Part) error {
	var out bytes.Buffer
	for _, part := range parts {
		lines := ""
		if part.Line > 0 {
			lines = fmt.Sprintf(":%d-%d", part.Line, part.Last)
		}
		fmt.Fprintf(&out, "=== %s%s (%s)\n%s\n", termtext.OneLine(part.Source, termtext.MaxLine), lines, termtext.Plural(part.Bytes, "byte"), termtext.Printable(strings.Trim(part.Text, "\n")))
	}
	_, err := p.Stdout.Write(out.Bytes())
	return err
}

// noAgent says why no agent has a name, with the diagnostics of an unserved file that has
// it.
func (p commands) noAgent(snapshot *agentdefs.Snapshot, name string, candidates []string) error {
	if len(candidates) > 0 {
		return cli.Usage(fmt.Errorf("%q matches each of %s; write the exact name of the one that you mean", name, strings.Join(candidates, ", ")))
	}
	for _, u := range snapshot.Unserved() {
		if strings.EqualFold(u.Name, name) && u.File != "built-in" {
			p.reportOf(snapshot, u.File)
			return cli.Usage(fmt.Errorf("the agent %q of %s is not served: %s", u.Name, u.File, u.Reason))
		}
	}
	var names []string
	for _, d := range snapshot.Agents() {
		names = append(names, d.Name)
	}
	hint := ""
	if folders := snapshot.Unread(); len(folders) > 0 && app.OnlyBuiltIn(snapshot) {
		hint = "; " + agentdefs.SayUnread(folders) + "; " + agentdefs.ReadHint(folders)
	}
	return cli.Usage(fmt.Errorf("there is no agent %q%s; accepted: %s%s", name, suggest.DidYouMean(name, names), strings.Join(names, ", "), hint))
}

// reportOf prints the diagnostics of one file on stderr.
func (p commands) reportOf(snapshot *agentdefs.Snapshot, file string) {
	for _, d := range agentdefs.EachOnce(snapshot.Diagnostics()) {
		if d.File == file {
			fmt.Fprintln(p.Stderr, termtext.OneLine(d.String(), termtext.MaxText))
		}
	}
}

func (p commands) showAgent(d *agentdefs.Definition, may, prompt, skills string, servers *mcpclient.Servers) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n%s\n\n", termtext.OneLine(d.Name, termtext.MaxLabel), termtext.Printable(d.Description))
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, f := range slices.DeleteFunc(append(p.fields(d, may, servers), [2]string{"skills", skills}), func(f [2]string) bool { return f[1] == "" }) {
		fmt.Fprintf(w, "%s\t%s\n", f[0], termtext.OneLine(f[1], termtext.MaxLine))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(d.Output) > 0 {
		var schema bytes.Buffer
		if err := json.Indent(&schema, d.Output, "", "  "); err != nil {
			return fmt.Errorf("showing the output schema: %w", err)
		}
		fmt.Fprintf(&out, "\noutput, the JSON Schema of its result:\n%s\n", termtext.Printable(schema.String()))
	}
	fmt.Fprintln(&out, "\npermission, the last match wins:")
	if d.Permission.Len() == 0 {
		fmt.Fprintln(&out, "  no rules: those of the workspace decide")
	}
	for r := range d.Permission.Rules() {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Action, termtext.OneLine(r.Tool, termtext.MaxLabel), termtext.OneLine(r.Pattern, termtext.MaxLine), termtext.OneLine(r.Source.String(), termtext.MaxLine))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nsystem prompt:\n%s\n", termtext.Printable(prompt))
	_, err := p.Stdout.Write(out.Bytes())
	return err
}

// fields returns the fields of an agent, with the values in force if its file sets none.
func (p commands) fields(d *agentdefs.Definition, may string, servers *mcpclient.Servers) [][2]string {
	source, state := Origin(d), State(d)
	if d.Line > 0 {
		source += ":" + strconv.Itoa(d.Line)
	}
	if d.Stale {
		state = "stale: the file has changed to something that can't be served, this is what it held before"
	}
	limit := errtext.Duration(p.Settings.Timeout) + " (the worker's)"
	if d.Timeout > 0 {
		limit = errtext.Duration(d.Timeout)
	}
	callers, mayCall := "any", ""
	if d.Callers != nil {
		callers = strings.Join(d.Callers, ", ")
	}
	if d.AllowAgents != nil {
		mayCall = cmp.Or(strings.Join(d.AllowAgents, ", "), "no agent")
	}
	fork := ""
	switch {
	case d.ForkContext < 0:
		fork = "all of the caller's conversation"
	case d.ForkContext > 0:
		fork = fmt.Sprintf("%d turns of the caller's conversation", d.ForkContext)
	}
	var kept []string
	for _, f := range d.Fields {
		kept = append(kept, f.Name)
	}
	set := [][2]string{ // listed if the file sets them
		{"replaces", d.Shadows},
		{"temperature", decimal(d.Temperature)},
		{"top p", decimal(d.TopP)},
		{"max output tokens", strings.TrimPrefix(strconv.Itoa(d.MaxOutputTokens), "0")},
		{"effort", d.Effort},
		{"aliases", strings.Join(d.Aliases, ", ")},
		{"caller", only(d.CalledByAgent, "agent")},
		{"may call", mayCall},
		{"background", only(d.Background, "true")},
		{"detached", only(d.Detached, "true")},
		{"MCP servers", servedBy(servers, d)},
		{"isolation", only(d.Worktree, "worktree")},
		{"fork context", fork},
		{"color", d.Color},
		{"kept", strings.Join(kept, ", ")},
	}
	return append([][2]string{
		{"source", source},
		{"state", state},
		{"mode", string(d.Mode)},
		{"may", may},
		{"missing", p.missing(servers, d)},
		{"steps", strconv.Itoa(d.MaxSteps)},
		{"time limit", limit},
		{"model", cmp.Or(d.Model, "the caller's")},
		{"callers", callers},
		{"inspectable", strconv.FormatBool(d.Inspectable)},
		{"hidden", strconv.FormatBool(d.Hidden)},
	}, slices.DeleteFunc(set, func(f [2]string) bool { return f[1] == "" })...)
}

// missing says which tools of the file are not here.
func (p commands) missing(servers *mcpclient.Servers, d *agentdefs.Definition) string {
	names := p.missingTools(servers, d)
	if len(names) == 0 {
		return "-"
	}
	text := strings.Join(names, ", ") + " (no tool here does the same"
	if slices.ContainsFunc(names, isServers) {
		text += "; 'worker mcp servers list' shows the MCP servers that there are"
	}
	for _, n := range d.Named {
		if slices.Contains(n.Tools, toolcatalog.WebSearch) && slices.Contains(names, n.Name) {
			text += "; web_search needs a provider: see --web-search"
			break
		}
	}
	return text + ")"
}

func decimal(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'g', -1, 64)
}

func only(set bool, text string) string {
	if !set {
		return ""
	}
	return text
}
