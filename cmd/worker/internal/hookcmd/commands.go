// Package hookcmd has 'worker hooks': the hooks around the calls of agents, which of them a person
// trusts, and what they say of a call.
package hookcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
)

type commands struct{ *app.Program }

// Commands returns 'worker hooks'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "The hooks around the calls of agents: list, trust, forget, test",
		Long: `Hooks are commands and requests that judge the calls of agents: those of the setting hooks,
of .claude/settings.json, .github/hooks, .codex and agent files, and with --hooks-from your own of
other programs. A hook that the repository has runs once you trust it as it is. docs/guide/hooks.md
has the rest.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(p.listCommand(), p.trustCommand(), p.forgetCommand(), p.testCommand())
	return cmd
}

// open returns the hooks of the workspace. It reports what can't be read.
func (p commands) open() (*hooks.Runner, *workspace.Workspace, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, nil, err
	}
	agents, err := p.LoadAgents()
	if err != nil {
		return nil, nil, err
	}
	r, err := app.NewHooks(p.Program, ws, func() *agentdefs.Snapshot { return agents })
	if err != nil {
		return nil, nil, err
	}
	for _, err := range r.Problems() {
		p.Complain(err)
	}
	return r, ws, nil
}

// shown is a hook as a JSON document.
type shown struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	State   string `json:"state"`
	Source  string `json:"source"`
	Runs    string `json:"runs"`
	Wrong   string `json:"wrong,omitempty"`
}

func (p commands) listCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the hooks, where they are written, and whether they may run",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r, _, err := p.open()
			if err != nil {
				return err
			}
			defer r.Close()
			return p.print(r, r.All(), asJSON, wide)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the hooks as a JSON array")
	app.RegisterWide(cmd, &wide)
	return cmd
}

func (p commands) print(r *hooks.Runner, all []*hookconfig.Hook, asJSON, wide bool) error {
	docs := []shown{}
	t := &terminal.Table{Header: []string{"EVENT", "MATCHER", "STATE", "SOURCE", "RUNS"}}
	for _, h := range all {
		what := termtext.OneLine(h.What(), termtext.MaxLine)
		if h.Wrong != "" {
			what = termtext.OneLine(h.Wrong, termtext.MaxLine)
		}
		state := string(r.State(h))
		docs = append(docs, shown{string(h.Event), h.Matcher, state, h.Source(), h.What(), h.Wrong})
		t.Add(string(h.Event), terminal.Dash(termtext.OneLine(h.Matcher, termtext.MaxLabel)), state, termtext.OneLine(h.Source(), termtext.MaxLabel), what)
	}
	switch {
	case asJSON:
		return p.PrintJSON(docs, true)
	case len(all) == 0:
		fmt.Fprintln(p.Stderr, "no hooks: add some to the setting hooks, or to .claude/settings.json")
		return nil
	}
	return p.PrintTable(t, wide)
}

// forChosen does something with the hooks of the repository that an argument names by their places;
// none means all.
func (p commands) forChosen(args []string, do func(ws *workspace.Workspace, all []*hookconfig.Hook) error) error {
	r, ws, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	var found []*hookconfig.Hook
	for _, h := range r.All() {
		if h.Repository && (len(args) == 0 || h.File == args[0] || h.Source() == args[0]) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return cli.Usage(errors.New("the repository has no such hooks: 'worker hooks list' shows them with their places"))
	}
	return do(ws, found)
}

func (p commands) trustCommand() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "trust [FILE[:LINE]]",
		Short: "Let hooks of the repository run with their present content",
		Long: `Prints what would run, and lets it run from now on: all hooks of the repository, or those of
a file. They run outside of the sandbox, as you. Once the repository changes a hook, it
is to be trusted again; once it changes a script that a hook names, the calls that the hook
guards are not made until then.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.forChosen(args, func(ws *workspace.Workspace, all []*hookconfig.Hook) error {
				for _, h := range all {
					fmt.Fprintf(p.Stdout, "%s %s\n  runs     %s\n", h.Event, termtext.OneLine(h.Source(), termtext.MaxLabel), termtext.OneLine(h.What(), termtext.MaxText))
					scripts := h.Scripts(ws.Root)
					for _, script := range scripts {
						fmt.Fprintf(p.Stdout, "  script   %s\n", termtext.OneLine(script, termtext.MaxLine))
					}
					if len(scripts) == 0 && h.Type == hookconfig.Command {
						fmt.Fprintln(p.Stdout, "  script   none: what else of the workspace it runs is not part of the trust")
					}
				}
				if show {
					return nil
				}
				if err := app.HookTrust(ws).Add(all, ws.Root); err != nil {
					return err
				}
				fmt.Fprintf(p.Stderr, "trusted: %s\n", termtext.Plural(len(all), "hook"))
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "only print what would run")
	return cmd
}

func (p commands) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget [FILE[:LINE]]",
		Short: "Trust hooks of the repository no longer",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.forChosen(args, func(ws *workspace.Workspace, all []*hookconfig.Hook) error {
				n, err := app.HookTrust(ws).Forget(all)
				if err != nil {
					return err
				}
				fmt.Fprintf(p.Stderr, "no longer trusted: %s\n", termtext.Plural(n, "hook"))
				return nil
			})
		},
	}
}

func (p commands) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test EVENT [TOOL ARGUMENTS]",
		Short: "Run the hooks of an event that does not happen, and print what they say",
		Long: `Runs the hooks of an event that does not happen, and prints what they say: of a call of a tool,
or of the start, a prompt or the end of a session. Those of agent files are left out.`,
		Example: `  worker hooks test PreToolUse shell_exec '{"command": "rm -r build"}'
  worker hooks test SessionStart`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, ws, err := p.open()
			if err != nil {
				return err
			}
			defer r.Close()
			c, err := tested(args)
			if err != nil {
				return cli.Usage(err)
			}
			c.Cwd = ws.Root
			p.printOutcome(r.Run(cmd.Context(), c))
			return nil
		},
	}
}

// tested returns the event that arguments name, with what hooks learn about it.
func tested(args []string) (hooks.Call, error) {
	c := hooks.Call{Event: hookconfig.Event(args[0]), SessionID: "test"}
	switch {
	case !slices.Contains(hookconfig.Events(), c.Event):
		return c, fmt.Errorf("there is no event %q; there are: %s", args[0], strings.Trim(fmt.Sprint(hookconfig.Events()), "[]"))
	case c.Event.OfTool() && len(args) != 3:
		return c, fmt.Errorf("%s is about the call of a tool: name the tool and its arguments", c.Event)
	case !c.Event.OfTool() && len(args) != 1:
		return c, fmt.Errorf("%s is not about the call of a tool: leave out the tool and its arguments", c.Event)
	}
	c.Source, c.Trigger, c.Kind, c.Reason = "startup", "auto", "permission_prompt", "completed"
	c.AgentType, c.Prompt, c.Answer = "test", "test", "test"
	if c.Event.OfTool() {
		c.Tool, c.ID, c.Input = args[1], "test", json.RawMessage(args[2])
		if !json.Valid(c.Input) {
			return c, errors.New("the arguments are not a JSON object")
		}
	}
	return c, nil
}

func (p commands) printOutcome(out hooks.Outcome) {
	said := false
	line := func(what, text string) {
		said = true
		fmt.Fprintf(p.Stdout, "%-8s %s\n", what, termtext.OneLine(text, termtext.MaxText))
	}
	for _, v := range []struct {
		what  string
		voice *hooks.Voice
	}{{"deny", out.Deny}, {"ask", out.Ask}, {"allow", out.Allow}, {"output", out.Output}} {
		if v.voice != nil {
			line(v.what, v.voice.Because())
		}
	}
	if out.Updated != nil {
		line("input", string(out.Updated))
	}
	for _, v := range out.Context {
		line("context", v.Because())
	}
	if !said {
		fmt.Fprintln(p.Stdout, "no hook says anything of it")
	}
}
