package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/pagelink"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/policy"
)

// defaultListen is where serve listens.
const defaultListen = "127.0.0.1:7433"

func (p *program) serveCommand() *cobra.Command {
	var at listening
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve HTTP with MCP and a live page, and with --nats a NATS service",
		Long: `Serves this workspace's agents over HTTP on a loopback address, at /mcp to hosts that
speak MCP, and with --nats as a NATS micro service, until it is interrupted. It says on
stderr where it listens and which file holds the token that HTTP callers send.

SIGINT or SIGTERM ends it in order. No more calls begin. For up to --drain it waits for
the calls whose callers wait, which then are cancelled and answered, and for the steps of
subagents in the background. These go on in the next worker of the workspace that serves,
within an hour. Exit status: 0 after such an end. A second signal ends it at once.

What the permission rules ask about waits for 'worker approvals', for up to
--approval-timeout (10m), and is then refused.`,
		Example: `  worker serve
  curl -H "Authorization: Bearer $(cat STATE/serve.token)" \
    -H 'Content-Type: application/json' \
    -d '{"description":"d","prompt":"Where is main?","agentType":"explore"}' \
    http://` + defaultListen + `/v1/tasks`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.serve(cmd.Context(), at)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&at.plain, "listen", defaultListen, "loopback address and port for HTTP; port 0: any free one")
	flags.StringVar(&at.secure, "listen-tls", "", "any address and port for HTTP with TLS, where named tokens alone count")
	flags.StringVar(&at.cert, "tls-cert", "", "file of the certificate for --listen-tls (PEM, with those between it and the root)")
	flags.StringVar(&at.key, "tls-key", "", "file of its key (PEM)")
	registerDrain(flags, &at.drain, 30*time.Second)
	flags.BoolVar(&at.pprof, "pprof", false, "serve profiles of this process below /debug/pprof/, for the token of the state folder")
	return cmd
}

// listening says where serve listens.
type listening struct {
	plain  string
	secure string // with TLS; empty means nowhere
	cert   string
	key    string
	pprof  bool
	drain  time.Duration
}

// tls returns where it listens with TLS; nil means nowhere.
func (at listening) tls() (*httpserver.TLS, error) {
	switch {
	case at.secure == "" && at.cert == "" && at.key == "":
		return nil, nil
	case at.secure == "" || at.cert == "" || at.key == "":
		return nil, cli.Usage(errors.New("--listen-tls, --tls-cert and --tls-key go together"))
	}
	return &httpserver.TLS{Addr: at.secure, CertFile: at.cert, KeyFile: at.key}, nil
}

// door is a front door that runs until the context of its start ends.
type door interface {
	// Wait returns when the door has shut in order, or why it shut otherwise.
	Wait() error
}

func (p *program) serve(ctx context.Context, at listening) error {
	if _, err := at.tls(); err != nil {
		return err
	}
	if err := checkDrain(at.drain); err != nil {
		return err
	}
	doors := []string{policy.DoorHTTP}
	if at.secure != "" {
		key, err := filepath.Abs(at.key)
		if err != nil {
			return err
		}
		p.Settings.DoorKey = key // hidden from agents
		doors = append(doors, policy.DoorTLS)
	}
	if err := errors.Join(p.AllowDoors(doors...), p.allowHost()); err != nil {
		return err
	}
	return p.Serve(ctx, true, func(a *app.Worker) error {
		// The end of one door shuts the others: half a server is none.
		ctx, shut := drained(ctx, p, a, at.drain)
		defer shut()
		doors, err := p.openDoors(ctx, a, at)
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

// openDoors starts the front doors and prints their addresses. With an error it returns the
// doors that it has started.
func (p *program) openDoors(ctx context.Context, a *app.Worker, at listening) ([]door, error) {
	path := filepath.Join(a.Workspace.StateDir, pagelink.TokenFile)
	token, err := httpserver.OpenToken(path)
	if err != nil {
		return nil, err
	}
	var page atomic.Value // its address, once there is one
	opts := p.webOptions(a, token)
	if opts.TLS, err = at.tls(); err != nil {
		return nil, err
	}
	opts.Profiles = at.pprof
	if p.opens(policy.DoorMCP) {
		opts.MCP = p.mcpServer(a, func() string { url, _ := page.Load().(string); return url }).HTTP(nil)
	}
	if !p.opens(policy.DoorPage) {
		opts.Page = nil
	}
	web, err := httpserver.Start(ctx, at.plain, opts)
	if err != nil {
		if opts.MCP != nil {
			opts.MCP.Close()
		}
		if errors.Is(err, httpserver.ErrTLS) {
			return nil, fmt.Errorf("--listen-tls %s: %w", at.secure, err)
		}
		return nil, fmt.Errorf("--listen %s: %w", at.plain, err)
	}
	page.Store(web.URL())
	fmt.Fprintf(p.Stderr, "worker: %s is served on %s (token in %s)\n", a.Workspace.Root, web.URL(), path)
	if url := web.SecureURL(); url != "" {
		fmt.Fprintf(p.Stderr, "worker: and on %s for named tokens\n", url)
	}
	var served door = web
	if opts.Page != nil {
		if served, err = p.announcePage(a, web); err != nil {
			return []door{web}, err
		}
	}
	if a.Bus.Health().Embedded || !p.opens(policy.DoorNATS) {
		return []door{served}, nil // nobody could reach a service within the process
	}
	service, err := natsservice.Start(ctx, natsservice.Options{
		Tasks: a.Tasks, Sessions: a.Sessions.Store(), Bus: a.Bus, Upkeep: a.Upkeep(), Logger: p.Logger(),
	})
	if err != nil {
		return []door{served}, err
	}
	a.Report(ctx, true)
	for _, f := range a.Bus.Health().Findings {
		fmt.Fprintf(p.Stderr, "worker: %s\n", termtext.OneLine(f.String(), termtext.MaxReport))
	}
	fmt.Fprintf(p.Stderr, "worker: and on %s as the service %s, below %s\n",
		a.Bus.Conn().ConnectedUrlRedacted(), natsservice.Name, service.Subject())
	return []door{served, service}, nil
}

// opens reports whether serve opens an additional door. If the policy keeps it shut, it
// reports that on stderr.
func (p *program) opens(name string) bool {
	err := p.AllowDoors(name)
	if err != nil {
		fmt.Fprintf(p.Stderr, "worker: %s\n", termtext.OneLine(err.Error(), termtext.MaxReport))
	}
	return err == nil
}
