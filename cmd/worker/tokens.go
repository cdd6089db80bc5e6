package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
)

// tokensFile is the file, in the state folder, of the named tokens of HTTP callers.
const tokensFile = "serve.tokens"

func (p *program) tokensCommand() *cobra.Command {
	cmd := cli.Group("tokens", "Make and remove named tokens for HTTP callers", p.tokensAddCommand(), p.tokensListCommand(), p.tokensRemoveCommand())
	cmd.Long = `Named tokens let programs and people in over HTTP who are not to do everything, and with
'worker serve --listen-tls' from other machines. A token has a name, by which the log and
answers to approvals say who it was, and scopes: read sees all sessions, agents and
approvals, run starts, changes and stops sessions, approve answers tool calls that wait.
The file serve.tokens in the state folder has their hashes. A change counts at once.`
	return cmd
}

func (p *program) tokensAddCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token, and print it",
		Long: `Makes a token and prints it on stdout. It is stored nowhere: of one that is lost another
has to be made.`,
		Example: `  worker tokens add ci --scope read,run`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			wanted := make([]tokens.Scope, 0, len(scopes))
			for _, s := range scopes {
				wanted = append(wanted, tokens.Scope(s))
			}
			if err := tokens.CheckScopes(wanted); err != nil {
				return cli.Usage(fmt.Errorf("--scope: %w", err))
			}
			path, err := p.tokensPath()
			if err != nil {
				return err
			}
			text, err := tokens.Add(path, args[0], wanted)
			if err == nil {
				_, err = fmt.Fprintln(p.Stdout, text)
			}
			return err
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", []string{"read"}, "what it is for: read, run, approve, with commas between them")
	return cmd
}

func (p *program) tokensListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens by name",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := p.tokensPath()
			if err != nil {
				return err
			}
			found, err := tokens.Read(path)
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(append([]tokens.Token{}, found...), true)
			}
			for _, t := range found {
				var scopes []string
				for _, s := range t.Scopes {
					scopes = append(scopes, string(s))
				}
				if _, err := fmt.Fprintf(p.Stdout, "%-20s %-18s %s\n", t.Name, strings.Join(scopes, ","), t.CreatedAt.Local().Format(time.DateTime)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the tokens as a JSON array, with their hashes")
	return cmd
}

func (p *program) tokensRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a token",
		Long: `Removes a token. Requests with it are refused from then on, browsers that were logged in
by it are logged out, and streams that are open with it end within two seconds.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := p.tokensPath()
			if err != nil {
				return err
			}
			return tokens.Remove(path, args[0])
		},
	}
}

// tokensPath returns the path of the file. Its folder is there.
func (p *program) tokensPath() (string, error) {
	ws, err := p.StateOf()
	if err != nil {
		return "", err
	}
	return filepath.Join(ws.StateDir, tokensFile), nil
}
