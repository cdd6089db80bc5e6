package servers

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
)

func (p commands) loginCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "login NAME",
		Short: "Log in with a remote MCP server by OAuth",
		Long: `Prints the page on which you say yes, waits up to 5 minutes for the browser to come back to
this machine, and keeps the tokens in the state folder, in a file that only you can read.
They are for the server as it is: once its URL or its headers change, log in again. Agents
use and renew them; 'worker mcp servers forget NAME' removes them.

On another machine, have ssh forward the port of the redirect_uri in the page's address.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.names,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			k, err := p.load()
			if err != nil {
				return err
			}
			st, err := k.find(args[0])
			if err != nil {
				return err
			}
			files, err := p.files(k)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, k.Close(), files.Close()) }()
			n, err := k.Login(cmd.Context(), st.Server, files, func(page string) error {
				_, err := fmt.Fprintf(p.Stderr, "open this page in a browser:\n%s\n", termtext.Printable(page))
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stderr, "logged in: %s, %s\n", termtext.OneLine(st.Name, termtext.MaxServer), termtext.Plural(n, "tool"))
			return nil
		},
	}
}

// files opens the workspace as the servers of agents have it.
func (p commands) files(k *known) (*tool.Workspace, error) {
	options := p.ToolOptions(k.ws)
	options.Sandbox.Dir = filepath.Join(k.ws.StateDir, "sandbox")
	return tool.OpenWorkspace(k.ws.Root, options)
}
