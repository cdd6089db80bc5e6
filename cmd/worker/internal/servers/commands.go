// Package servers has 'worker mcp servers': the MCP servers whose tools agents have, which of
// them a person trusts, and whether they run.
package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/tool/mcpclient"
)

type commands struct{ *app.Program }

// Commands returns 'worker mcp servers'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "The MCP servers whose tools agents have: list, test, trust, log in, forget",
		Long: `Agents have the tools of MCP servers: those of the setting mcpServers, of .mcp.json, of
their own files, and with --mcp-from those of other programs. A server that the repository
names runs once you trust it as it is, and in a sandbox. docs/guide/servers.md has the rest.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(p.listCommand(), p.testCommand(), p.trustCommand(), p.loginCommand(), p.forgetCommand())
	return cmd
}

// known are the servers of a workspace: the configured ones, then those of agent files.
type known struct {
	*mcpclient.Servers
	ws     *workspace.Workspace
	all    []mcpclient.Status
	agents map[string][]string // the agents whose files have the server, by its hash
}

// load finds the servers. It reports what can't be read.
func (p commands) load() (*known, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	k := &known{Servers: app.NewServers(p.Program, ws), ws: ws, agents: map[string][]string{}}
	configured, err := k.Configured()
	if err != nil {
		p.Complain(err)
	}
	for _, s := range configured {
		k.all = append(k.all, k.Status(s))
	}
	snapshot, err := p.LoadAgents()
	if err != nil {
		return nil, err
	}
	for _, d := range snapshot.Agents() {
		k.add(d)
	}
	return k, nil
}

// add adds the servers that an agent's file has.
func (k *known) add(d *agentdefs.Definition) {
	if d.Servers == nil {
		return
	}
	for _, s := range d.Servers.Inline {
		if hash := s.Hash(); len(k.agents[hash]) > 0 {
			k.agents[hash] = append(k.agents[hash], d.Name)
			continue
		}
		k.agents[s.Hash()] = []string{d.Name}
		k.all = append(k.all, k.Status(s))
	}
}

// find returns the server of a name.
func (k *known) find(name string) (*mcpclient.Status, error) {
	var found []*mcpclient.Status
	var names []string
	for i := range k.all {
		names = append(names, k.all[i].Name)
		if strings.EqualFold(k.all[i].Name, name) || k.all[i].Source() == name {
			found = append(found, &k.all[i])
		}
	}
	switch len(found) {
	case 0:
		if len(names) == 0 {
			return nil, cli.Usage(errors.New("there are no MCP servers: add one to .mcp.json, or name a program that has some with --mcp-from"))
		}
		return nil, cli.Usage(fmt.Errorf("there is no MCP server %q%s; there are: %s", name, suggest.DidYouMean(name, names), strings.Join(names, ", ")))
	case 1:
		return found[0], nil
	}
	var places []string
	for _, f := range found {
		places = append(places, f.Source())
	}
	return nil, cli.Usage(fmt.Errorf("there are %d MCP servers named %s: name one by its place: %s", len(found), name, strings.Join(places, ", ")))
}

// shown is a server as a JSON document.
type shown struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Why       string   `json:"why,omitempty"`
	Transport string   `json:"transport"`
	Runs      string   `json:"runs"`
	Source    string   `json:"source"`
	Agents    []string `json:"agents,omitempty"`    // whose files have it
	Variables []string `json:"variables,omitempty"` // of the environment that it is given
	Tools     *int     `json:"tools,omitempty"`     // as it last listed them
	Allow     bool     `json:"allow,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Hash      string   `json:"hash"`
}

func (k *known) shown(st *mcpclient.Status) shown {
	s := shown{
		Name: st.Name, State: string(st.State), Why: st.Why, Transport: string(st.Transport), Runs: st.What(), Source: st.Source(), Agents: k.agents[st.Hash()],
		Variables: st.Variables(), Allow: st.Trusted.Allow, Hosts: st.Trusted.Hosts, Hash: st.Hash(),
	}
	if st.Tools >= 0 {
		s.Tools = &st.Tools
	}
	return s
}

func (p commands) listCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers, where they are written, and whether they may run",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			k, err := p.load()
			if err != nil {
				return err
			}
			if asJSON {
				all := []shown{}
				for i := range k.all {
					all = append(all, k.shown(&k.all[i]))
				}
				return p.PrintJSON(all, true)
			}
			if len(k.all) == 0 {
				fmt.Fprintln(p.Stderr, "no MCP servers: add one to .mcp.json, or name a program that has some with --mcp-from")
				return nil
			}
			t := &terminal.Table{Header: []string{"NAME", "STATE", "TOOLS", "SOURCE", "RUNS"}}
			for _, st := range k.all {
				tools := ""
				if st.Tools >= 0 {
					tools = fmt.Sprint(st.Tools)
				}
				t.Add(termtext.OneLine(st.Name, termtext.MaxServer), string(st.State), terminal.Dash(tools), termtext.OneLine(st.Source(), termtext.MaxLabel), termtext.OneLine(st.What(), termtext.MaxLine))
			}
			if err := p.PrintTable(t, wide); err != nil {
				return err
			}
			for _, st := range k.all {
				if st.State != mcpclient.Ready {
					fmt.Fprintf(p.Stderr, "%s: %s\n", termtext.OneLine(st.Name, termtext.MaxServer), termtext.OneLine(st.Why, termtext.MaxLine))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the servers as a JSON array")
	app.RegisterWide(cmd, &wide)
	return cmd
}

// names completes the names of servers.
func (p commands) names(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	k, err := p.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, st := range k.all {
		names = append(names, st.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (p commands) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Start an MCP server as agents do, and list its tools",
		Long: `Starts the server in the sandbox in which agents run it, asks for its tools, prints their
names and what it says of them, and ends it. The exit status is 1 if it does not work.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := p.load()
			if err != nil {
				return err
			}
			st, err := k.find(args[0])
			if err != nil {
				return err
			}
			return p.test(cmd.Context(), k, st.Server)
		},
	}
}

// test starts a server and prints its tools.
func (p commands) test(ctx context.Context, k *known, server *mcpconfig.Server) (err error) {
	files, err := p.files(k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close(), files.Close()) }()
	began := time.Now()
	if _, err := k.List(ctx, server, files); err != nil {
		return err
	}
	took := time.Since(began)
	tools := k.Tools(&mcpconfig.Selection{Inline: []*mcpconfig.Server{server}}, files)()
	for _, t := range tools {
		spec := t.Spec()
		about, _, _ := strings.Cut(spec.Description, "\n")
		fmt.Fprintf(p.Stdout, "%s  %s\n", spec.Name, termtext.OneLine(about, termtext.MaxLabel))
	}
	fmt.Fprintf(p.Stderr, "%s in %s\n", termtext.Plural(len(tools), "tool"), termtext.Duration(took))
	return nil
}

func (p commands) trustCommand() *cobra.Command {
	var said mcpclient.Trusted
	var show bool
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Let an MCP server of the repository run with its present content",
		Long: `Prints what would run, and with what, and lets agents run it from now on. It runs in the
sandbox of its session: it sees the workspace as the session's rules have it and its own
program, reaches no host but those of --host, and its tools are asked about unless a rule or
--allow says otherwise. Once the repository changes the server, it is to be
trusted again. Nothing is written into the repository: the hash of the server's content is
kept in the state folder.

Then the server is started once, to list its tools.`,
		Example: `  worker mcp servers trust github --show
  worker mcp servers trust github --host api.github.com
  worker mcp servers trust docs --allow`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := p.load()
			if err != nil {
				return err
			}
			st, err := k.find(args[0])
			if err != nil {
				return err
			}
			p.printServer(k, st)
			switch {
			case show:
				return nil
			case st.State == mcpclient.Forbidden || st.State == mcpclient.Off:
				return fmt.Errorf("the MCP server %s is %s: %s", st.Name, st.State, st.Why)
			}
			said.Time = time.Now().UTC()
			for _, folders := range [][]string{said.Read, said.Write} {
				for i := range folders {
					if folders[i], err = filepath.Abs(folders[i]); err != nil {
						return err
					}
				}
			}
			if err := app.ServerTrust(p.Program, k.ws).Add(st.Server, said); err != nil {
				return cli.Usage(err)
			}
			fmt.Fprintf(p.Stderr, "trusted: %s\n", termtext.OneLine(st.Name, termtext.MaxServer))
			return p.test(cmd.Context(), k, st.Server)
		},
	}
	cmd.Flags().BoolVar(&said.Allow, "allow", false, "its tools are not asked about; rules can still ask and deny")
	cmd.Flags().StringArrayVar(&said.Hosts, "host", nil, "a host that its program may reach, as NAME, NAME:PORT or *.DOMAIN; can be given more than once")
	cmd.Flags().StringArrayVar(&said.Read, "read", nil, "a folder outside of the workspace that its program sees; can be given more than once")
	cmd.Flags().StringArrayVar(&said.Write, "write", nil, "a folder outside of the workspace in which it writes; can be given more than once")
	cmd.Flags().BoolVar(&show, "show", false, "only print what would run")
	return cmd
}

// printServer prints what a server runs, and with what.
func (p commands) printServer(k *known, st *mcpclient.Status) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(p.Stdout, "%-10s %s\n", name, termtext.OneLine(text, termtext.MaxText))
		}
	}
	line("server", st.Name)
	line("source", st.Source())
	line("runs", st.What())
	line("variables", strings.Join(st.Variables(), ", "))
	line("agents", strings.Join(k.agents[st.Hash()], ", "))
	line("hash", st.Hash())
}

func (p commands) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "forget NAME",
		Short:             "Trust an MCP server no longer, and forget its list of tools and its login",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.names,
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := p.load()
			if err != nil {
				return err
			}
			name, login := args[0], false
			if st, err := k.find(name); err == nil {
				login = k.LoggedIn(st.Server)
				if err := k.Forget(st.Server); err != nil {
					return err
				}
				name = st.Name
			}
			known, err := app.ServerTrust(p.Program, k.ws).Forget(name)
			if err != nil {
				return err
			}
			switch {
			case !known && !login:
				return cli.Usage(fmt.Errorf("no MCP server %q was trusted, or has a login", name))
			case login:
				fmt.Fprintf(p.Stderr, "the login is removed: %s\n", termtext.OneLine(name, termtext.MaxServer))
			}
			if !known {
				return nil
			}
			fmt.Fprintf(p.Stderr, "no longer trusted: %s\n", termtext.OneLine(name, termtext.MaxServer))
			return nil
		},
	}
}
