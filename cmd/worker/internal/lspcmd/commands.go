// Package lspcmd has 'worker lsp': the language servers of a workspace, and which of them a person
// trusts.
package lspcmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/tool/lsp"
)

type commands struct{ *app.Program }

// Commands returns 'worker lsp'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "The language servers that look at what agents write: list, trust, forget",
		Long: `Language servers say what is wrong with a file that an agent has changed: those of the
setting lsp, those that files of the repository name, and known ones in PATH. One that the
repository names runs once you trust it as it is, and in a sandbox. docs/guide/code.md has
the rest.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(p.listCommand(), p.trustCommand(), p.forgetCommand())
	return cmd
}

// all returns the servers of the workspace. It reports what can't be read.
func (p commands) all() ([]lsp.Status, *workspace.Workspace, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, nil, err
	}
	all, err := app.NewLanguageServers(p.Program, ws).All(p.Environ)
	if err != nil {
		p.Complain(err)
	}
	return all, ws, nil
}

// shown is a server as a JSON document.
type shown struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Why    string   `json:"why,omitempty"`
	Files  []string `json:"files"`
	Runs   string   `json:"runs"`
	Source string   `json:"source"`
	Hash   string   `json:"hash"`
}

func showing(st *lsp.Status) shown {
	return shown{
		Name: st.Name, State: string(st.State), Why: st.Why, Files: slices.Sorted(maps.Keys(st.Languages)),
		Runs: runs(st.Server), Source: st.Source(), Hash: st.Hash(),
	}
}

// runs returns what a server runs, with the variables that it is given.
func runs(s *lsp.Server) string {
	what := strings.Join(s.Command, " ")
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.Env))) {
		what = name + "=" + s.Env[name] + " " + what
	}
	return what
}

func (p commands) listCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the language servers, what they run, and whether they may",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, _, err := p.all()
			if err != nil {
				return err
			}
			docs := []shown{}
			t := &terminal.Table{Header: []string{"NAME", "STATE", "FILES", "SOURCE", "RUNS"}}
			for i := range all {
				d := showing(&all[i])
				docs = append(docs, d)
				t.Add(termtext.OneLine(d.Name, termtext.MaxTitle), d.State, termtext.OneLine(strings.Join(d.Files, " "), termtext.MaxLabel), termtext.OneLine(d.Source, termtext.MaxLabel), termtext.OneLine(d.Runs, termtext.MaxLine))
			}
			switch {
			case asJSON:
				return p.PrintJSON(docs, true)
			case len(docs) == 0:
				fmt.Fprintln(p.Stderr, "no language servers: none of the known ones is in PATH, and neither the setting lsp nor the repository names one")
				return nil
			}
			return p.PrintTable(t, wide)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the servers as a JSON array")
	app.RegisterWide(cmd, &wide)
	return cmd
}

// ofRepository returns the server of a name that the repository names.
func (p commands) ofRepository(name string) (*lsp.Status, *workspace.Workspace, error) {
	all, ws, err := p.all()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for i := range all {
		if !all[i].Repository {
			continue
		}
		if all[i].Name == name {
			return &all[i], ws, nil
		}
		names = append(names, all[i].Name)
	}
	if len(names) == 0 {
		return nil, nil, cli.Usage(errors.New("the repository names no language server: there is nothing to trust"))
	}
	return nil, nil, cli.Usage(fmt.Errorf("the repository names no language server %q%s; it names: %s", name, suggest.DidYouMean(name, names), strings.Join(names, ", ")))
}

func (p commands) trustCommand() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Let a language server that the repository names run as it is",
		Long: `Prints what a server of the repository would run, and lets it run from now on: in the
sandbox, with the rules of the session, without a host to reach. Once the repository
changes its command, its variables or its settings, it is to be trusted again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, ws, err := p.ofRepository(args[0])
			if err != nil {
				return err
			}
			d := showing(st)
			fmt.Fprintf(p.Stdout, "%s (%s)\n  runs     %s\n  files    %s\n", termtext.OneLine(d.Name, termtext.MaxTitle), termtext.OneLine(d.Source, termtext.MaxLabel), termtext.OneLine(d.Runs, termtext.MaxText), termtext.OneLine(strings.Join(d.Files, " "), termtext.MaxLine))
			for _, set := range []struct {
				what string
				text []byte
			}{{"init", st.Init}, {"settings", st.Settings}} {
				if len(set.text) > 0 {
					fmt.Fprintf(p.Stdout, "  %-8s %s\n", set.what, termtext.OneLine(string(set.text), termtext.MaxText))
				}
			}
			if show {
				return nil
			}
			if err := app.LanguageTrust(ws).Add(st.Server, time.Now().UTC()); err != nil {
				return err
			}
			fmt.Fprintf(p.Stderr, "trusted: %s\n", termtext.OneLine(d.Name, termtext.MaxTitle))
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "only print what would run")
	return cmd
}

func (p commands) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget NAME",
		Short: "Trust a language server of the repository no longer",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			known, err := app.LanguageTrust(ws).Forget(args[0])
			switch {
			case err != nil:
				return err
			case !known:
				return cli.Usage(fmt.Errorf("nobody has trusted a language server %q", args[0]))
			}
			fmt.Fprintf(p.Stderr, "no longer trusted: %s\n", termtext.OneLine(args[0], termtext.MaxTitle))
			return nil
		},
	}
}
