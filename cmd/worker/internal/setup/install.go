// Package setup has the commands that set worker up and check how it is set up: 'worker
// init', 'worker mcp install', 'worker mcp uninstall', 'worker doctor', 'worker version' and
// 'worker man'. It knows the configuration files of MCP hosts: where they are, what an entry
// looks like there, and how one is added and taken out without changing another byte.
package setup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
)

type commands struct{ *app.Program }

type hostOptions struct {
	name                string
	project, yes, print bool
}

// Install returns 'worker mcp install'.
func Install(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts hostOptions
	cmd := &cobra.Command{
		Use:   "install HOST [-- FLAGS]",
		Short: "Add worker to the configuration of an MCP host",
		Long: `Adds an entry to the configuration file of an MCP host, which starts 'worker mcp' with
FLAGS. It shows the difference and asks first. What else the file has stays as it is, byte
for byte, comments too. A file that cannot be read without a doubt is not written, and an
entry of that name that starts something else is left alone. For Codex, which passes no
other variables on, the entry names those that lead to the state and settings of this
terminal, such as XDG_STATE_HOME, if they are set.

HOST is one of ` + strings.Join(hostNames(), ", ") + `.`,
		Example: `  worker mcp install cursor
  worker mcp install codex -- --mcp-call-limit 30m
  worker mcp install claude --project --yes`,
		Args:              hostArgs,
		ValidArgsFunction: completeHosts,
		RunE: func(_ *cobra.Command, args []string) error {
			h, at, err := p.target(args[0])
			if err != nil {
				return err
			}
			server := serverCommand{Command: p.command(opts.project), Args: append([]string{"mcp"}, args[1:]...), Vars: p.places()}
			change, err := h.Install(at, opts.project, opts.name, server)
			return p.apply(change, err, opts, "there already")
		},
	}
	opts.register(cmd)
	return cmd
}

// Uninstall returns 'worker mcp uninstall'.
func Uninstall(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts hostOptions
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Take worker out of the configuration of an MCP host",
		Long: `Takes the entry out again that 'worker mcp install' adds. It shows the difference and
asks first.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeHosts,
		RunE: func(_ *cobra.Command, args []string) error {
			h, at, err := p.target(args[0])
			if err != nil {
				return err
			}
			change, err := h.Remove(at, opts.project, opts.name)
			return p.apply(change, err, opts, "not there")
		},
	}
	opts.register(cmd)
	return cmd
}

func (o *hostOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.name, "name", "worker", "name of the entry")
	cmd.Flags().BoolVar(&o.project, "project", false, "the host's file in this workspace, in place of the user's")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write without asking")
	cmd.Flags().BoolVar(&o.print, "print", false, "show the difference and write nothing")
}

func hostArgs(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash != 1 && len(args) > 1 {
		return fmt.Errorf("name one host (%s); what follows -- are flags of 'worker mcp'", strings.Join(hostNames(), ", "))
	}
	return nil
}

func completeHosts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, h := range allHosts {
			names = append(names, h.Name+"\t"+h.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// target returns a host, and whose configuration files are meant.
func (p commands) target(name string) (*host, hostFolders, error) {
	h := findHost(name)
	if h == nil {
		return nil, hostFolders{}, cli.Usage(fmt.Errorf("unknown host %q: the hosts are %s; docs/guide/hosts.md has others", name, strings.Join(hostNames(), ", ")))
	}
	at, err := p.folders()
	return h, at, err
}

// folders returns whose configuration files are meant.
func (p commands) folders() (hostFolders, error) {
	ws, err := p.Workspace()
	if err != nil {
		return hostFolders{}, err
	}
	return hostFolders{Home: ws.Home, Project: ws.Root, Getenv: p.Getenv}, nil
}

// command returns the command that starts this program. That is its name, if the PATH leads
// to it or the file is shared; else its path.
func (p commands) command(shared bool) string {
	const name = "worker"
	self, err := os.Executable()
	if err != nil || shared {
		return name
	}
	if same, err := filepath.EvalSymlinks(onPath(name, p.Getenv)); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil && real == same {
			return name
		}
	}
	return self
}

// places returns the variables that are set and lead to the state and the settings of this
// terminal. A worker without them would have others.
func (p commands) places() (set []string) {
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "WORKER_STATE_DIR", "WORKER_WORKSPACE"} {
		if p.Getenv(name) != "" {
			set = append(set, name)
		}
	}
	return set
}

// apply shows a change, asks, and writes it. same describes an entry that needs no change.
func (p commands) apply(c *fileChange, err error, opts hostOptions, same string) error {
	if err != nil {
		return err
	}
	if c.Nothing() {
		_, err := fmt.Fprintf(p.Stdout, "%s: the entry %q is %s\n", termtext.OneLine(c.File, termtext.MaxLine), opts.name, same)
		return err
	}
	if _, err := fmt.Fprint(p.Stdout, termtext.Printable(c.Diff())); err != nil || opts.print {
		return err
	}
	if !opts.yes {
		if !p.StdinTTY {
			return cli.Usage(errors.New("nothing was written, since nobody can be asked: --yes writes it, --print only shows it"))
		}
		fmt.Fprint(p.Stderr, "write it? [y/N] ")
		answer, _ := bufio.NewReader(p.Stdin).ReadString('\n') // no answer is no
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errors.New("nothing was written")
		}
	}
	if err := c.Write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "wrote %s; start the host anew\n", termtext.OneLine(c.File, termtext.MaxLine))
	return err
}
