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

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/instructions"
	"github.com/agentworker/worker/taskt/memory"
)

func (p commands) showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent with all that its file resolves to",
		Long: `Shows the agent that a task call would get by NAME, in any case or by an alias: what
its file amounts to, each rule with the line that it comes from, and the whole system
prompt that its model reads.`,
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
			at := taskt.Setting{
				Root: ws.Root, Child: d.Mode != agentdefs.Primary, Text: instructions.NewReader(ws.Root, p.Logger()).Current(),
			}
			if d.Memory {
				at.Memory = memory.New(filepath.Join(ws.StateDir, memory.FileName), p.Logger()).Current()
			}
			prompt := taskt.SystemPrompt(d, at)
			if asJSON {
				return p.PrintJSON(struct {
					Agent
					SystemPrompt string `json:"systemPrompt"`
				}{NewAgent(d), prompt}, true)
			}
			return p.showAgent(d, prompt)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the agent as one JSON document")
	return cmd
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
	for _, d := range snapshot.Diagnostics() {
		if d.File == file {
			fmt.Fprintln(p.Stderr, termtext.OneLine(d.String(), 2000))
		}
	}
}

func (p commands) showAgent(d *agentdefs.Definition, prompt string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n%s\n\n", termtext.OneLine(d.Name, 200), termtext.Printable(d.Description))
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, f := range p.inForce(d) {
		fmt.Fprintf(w, "%s\t%s\n", f[0], termtext.OneLine(f[1], 500))
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
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Action, termtext.OneLine(r.Tool, 200), termtext.OneLine(r.Pattern, 500), termtext.OneLine(r.Source.String(), 500))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nsystem prompt:\n%s\n", termtext.Printable(prompt))
	_, err := p.Stdout.Write(out.Bytes())
	return err
}

// inForce returns the fields of an agent, with what holds where its file is
// silent.
func (p commands) inForce(d *agentdefs.Definition) [][2]string {
	at := Origin(d)
	if d.Line > 0 {
		at += ":" + strconv.Itoa(d.Line)
	}
	list := [][2]string{
		{"source", at},
		{"state", State(d)},
		{"mode", string(d.Mode)},
		{"may", d.May()},
		{"steps", strconv.Itoa(d.MaxSteps)},
		{"time limit", errtext.Duration(p.Settings.Timeout) + " (the worker's)"},
		{"model", "the caller's"},
		{"callers", "any"},
		{"inspectable", strconv.FormatBool(d.Inspectable)},
		{"hidden", strconv.FormatBool(d.Hidden)},
	}
	set := func(name, value string) {
		if i := slices.IndexFunc(list, func(f [2]string) bool { return f[0] == name }); i >= 0 {
			list[i][1] = value
		} else {
			list = append(list, [2]string{name, value})
		}
	}
	if d.Stale {
		set("state", "stale: the file has changed to something that can't be served, this is what it held before")
	}
	if d.Shadows != "" {
		set("replaces", d.Shadows)
	}
	if d.Timeout > 0 {
		set("time limit", errtext.Duration(d.Timeout))
	}
	if d.Model != "" {
		set("model", d.Model)
	}
	if d.Temperature != nil {
		set("temperature", strconv.FormatFloat(*d.Temperature, 'g', -1, 64))
	}
	if d.TopP != nil {
		set("top p", strconv.FormatFloat(*d.TopP, 'g', -1, 64))
	}
	if d.MaxOutputTokens > 0 {
		set("max output tokens", strconv.Itoa(d.MaxOutputTokens))
	}
	if d.Effort != "" {
		set("effort", d.Effort)
	}
	if len(d.Aliases) > 0 {
		set("aliases", strings.Join(d.Aliases, ", "))
	}
	if d.Callers != nil {
		set("callers", strings.Join(d.Callers, ", "))
	}
	if d.CalledByAgent {
		set("caller", "agent")
	}
	if d.AllowAgents != nil {
		set("may call", cmp.Or(strings.Join(d.AllowAgents, ", "), "no agent"))
	}
	if d.Background {
		set("background", "true")
	}
	if d.Detached {
		set("detached", "true")
	}
	if d.Worktree {
		set("isolation", "worktree")
	}
	switch {
	case d.ForkContext < 0:
		set("fork context", "all of the caller's conversation")
	case d.ForkContext > 0:
		set("fork context", fmt.Sprintf("%d turns of the caller's conversation", d.ForkContext))
	}
	if d.Color != "" {
		set("color", d.Color)
	}
	if len(d.Fields) > 0 {
		var names []string
		for _, f := range d.Fields {
			names = append(names, f.Name)
		}
		set("kept", strings.Join(names, ", "))
	}
	return list
}
