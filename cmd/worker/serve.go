package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/internal/termtext"
)

// defaultListen is where serve listens.
const defaultListen = "127.0.0.1:7433"

// tokenFile is the file, in the state folder, of what HTTP callers have to know.
const tokenFile = "serve.token"

func (p *program) serveCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve HTTP with MCP and a live page, and with --nats a NATS service",
		Long: `Serves this workspace's agents over HTTP on a loopback address, at /mcp to hosts that
speak MCP, and with --nats as a NATS micro service, until it is interrupted. It says on
stderr where it listens and which file holds the token that HTTP callers send. SIGINT or
SIGTERM ends it in order: no more calls, running ones are cancelled and answered. Exit
status: 0 after such an end.

What the permission rules ask about waits for 'worker approvals', for up to
--approval-timeout (10m), and is then refused.`,
		Example: `  worker serve
  curl -H "Authorization: Bearer $(cat STATE/serve.token)" \
    -H 'Content-Type: application/json' \
    -d '{"description":"d","prompt":"Where is main?","agentType":"explore"}' \
    http://` + defaultListen + `/v1/tasks`,
		Args:              usage.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.serve(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "loopback address and port for HTTP; port 0: any free one")
	return cmd
}

// door is a front door that runs until the context of its start ends.
type door interface {
	// Wait returns when the door has shut in order, or why it shut otherwise.
	Wait() error
}

func (p *program) serve(ctx context.Context, listen string) error {
	return p.Serving(ctx, func(a *app.Worker) error {
		// The end of one door shuts the others: half a server is none.
		ctx, shut := context.WithCancel(ctx)
		defer shut()
		doors, err := p.openDoors(ctx, a, listen)
		if err != nil {
			shut()
		}
		errs := make([]error, len(doors))
		var open sync.WaitGroup
		for i, d := range doors {
			open.Go(func() {
				defer shut()
				errs[i] = d.Wait()
			})
		}
		open.Wait()
		return errors.Join(append(errs, err)...)
	})
}

// openDoors starts the front doors and says where they are. With an error come
// those that it has started.
func (p *program) openDoors(ctx context.Context, a *app.Worker, listen string) ([]door, error) {
	path := filepath.Join(a.Workspace.StateDir, tokenFile)
	token, err := httpserver.OpenToken(path)
	if err != nil {
		return nil, err
	}
	mcp := p.mcpServer(a).HTTP(nil)
	opts := p.webOptions(a, token)
	opts.MCP = mcp
	web, err := httpserver.Start(ctx, listen, opts)
	if err != nil {
		mcp.Close()
		return nil, fmt.Errorf("--listen %s: %w", listen, err)
	}
	fmt.Fprintf(p.Stderr, "worker: %s is served on %s (token in %s)\n", a.Workspace.Root, web.URL(), path)
	withPage, err := p.announcePage(a, web)
	if err != nil {
		return []door{web}, err
	}
	if a.Bus.Embedded() {
		return []door{withPage}, nil // nobody could reach a service within the process
	}
	service, err := natsservice.Start(ctx, natsservice.Options{
		Tasks: a.Tasks, Sessions: a.Sessions.Store(), Bus: a.Bus, Logger: p.Logger(),
	})
	if err != nil {
		return []door{withPage}, err
	}
	a.Report(ctx, true)
	for _, f := range a.Bus.Findings() {
		fmt.Fprintf(p.Stderr, "worker: %s\n", termtext.OneLine(f.String(), 1000))
	}
	fmt.Fprintf(p.Stderr, "worker: and on %s as the service %s, below %s\n",
		a.Bus.Conn().ConnectedUrlRedacted(), natsservice.Name, service.Subject())
	return []door{withPage, service}, nil
}
