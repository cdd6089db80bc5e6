package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/pagelink"
	"github.com/agentworker/worker/cmd/worker/internal/permissions"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt/conversation"
)

func (p *program) pageCommand() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Print a link to the live page of the worker that runs",
		Long: `Prints a link to the page of the worker that serves this workspace: 'worker serve', or
'worker mcp --page'. The link logs a browser in once, within ten minutes. With --open the
browser of this machine opens it.`,
		Example: `  worker page
  worker page --open`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.page(cmd.Context(), open) },
	}
	cmd.Flags().BoolVar(&open, "open", false, "open the link in the browser of this machine")
	return cmd
}

func (p *program) page(ctx context.Context, open bool) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	link, err := pagelink.Ask(ctx, ws.StateDir, "", "")
	if err != nil {
		return err
	}
	if !open {
		_, err = fmt.Fprintln(p.Stdout, link)
		return err
	}
	return openLink(ctx, filepath.Join(ws.StateDir, "page.html"), link)
}

// openLink opens a link in the browser. Other users of the machine see command lines, so
// the command gets the name of a file that leads there.
func openLink(ctx context.Context, file, link string) error {
	address := html.EscapeString(link)
	doc := `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=` +
		address + `"><a href="` + address + `">Open the page</a>` + "\n"
	if err := atomicfile.Write(file, []byte(doc), 0o600); err != nil {
		return err
	}
	command := []string{"xdg-open", file}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", file}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", file}
	}
	program, err := ownpath.Look(command[0])
	if err != nil {
		return fmt.Errorf("opening the browser: %w; 'worker page' prints the link", err)
	}
	cmd := exec.CommandContext(ctx, program, command[1:]...)
	cmd.Env = ownpath.Environ(secrets.Environ(os.Environ())) // the browser may stay for days
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("opening the browser by %s: %w: %s; 'worker page' prints the link", command[0], err, termtext.OneLine(string(out), termtext.MaxCause))
	}
	return nil
}

// pageOptions is the page of a worker.
func (p *program) pageOptions(a *app.Worker) *page.Options {
	return &page.Options{
		Workspace: filepath.Base(a.Workspace.Root),
		RulesFile: app.RulesFile(a.Workspace),
		Agents:    func() any { return agents.NewSnapshot(a.Agents.Snapshot(), inForce(p.Program, a)) },
		Talks:     conversation.NewDesk(a.Tasks, a.Agents, a.Sessions.Store(), p.Logger()),
	}
}

// inForce returns the rules as they are now; nil means that they can't be read.
func inForce(p *app.Program, a *app.Worker) *app.InForce {
	rules, err := app.ReadInForce(p, a.Workspace)
	if err != nil {
		p.Logger().Warn("reading the rules", "error", err)
		return nil
	}
	return rules
}

// webOptions is the HTTP server of a worker, with its page.
func (p *program) webOptions(a *app.Worker, token string) httpserver.Options {
	return httpserver.Options{
		Tasks: a.Tasks, Sessions: a.Sessions.Store(), Bus: a.Bus, Token: token, Logger: p.Logger(), Page: p.pageOptions(a), Upkeep: a.Upkeep(), Snapshots: app.Snapshots(a.Workspace), Audit: a.Audit, MaxStreams: p.Settings.MaxStreams,
		Tokens: tokens.Open(filepath.Join(a.Workspace.StateDir, tokensFile), p.Logger()),
		Agent: func(name string) (any, bool) {
			def, ok := a.Agents.Snapshot().Agent(name)
			if !ok {
				return nil, false
			}
			return agents.NewAgent(def, inForce(p.Program, a)), true
		},
		Explain: func(_ context.Context, agent, tool, arg string) (any, error) {
			return permissions.Explain(p.Program, a.Agents.Snapshot(), agent, tool, arg)
		},
	}
}

// pageDoor is a server with a page whose address is in a file.
type pageDoor struct {
	*httpserver.Server
	forget func() // removes the file
}

// Wait implements [door].
func (d *pageDoor) Wait() error {
	defer d.forget()
	return d.Server.Wait()
}

// announcePage prints the address of the page on stderr, and writes it into a file for
// 'worker page'. The server's end removes the file, if it is still this process's.
func (p *program) announcePage(a *app.Worker, web *httpserver.Server) (*pageDoor, error) {
	lock, err := pagelink.Lock(a.Workspace.StateDir)
	if err != nil {
		return nil, fmt.Errorf("noting where the page is: %w", err)
	}
	data, err := json.Marshal(pagelink.Address{URL: web.URL(), PID: os.Getpid(), Lock: filepath.Base(lock.Path())})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	file := filepath.Join(a.Workspace.StateDir, pagelink.File)
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("noting where the page is: %w", err), lock.Close())
	}
	link, expires := web.PageLink()
	fmt.Fprintf(p.Stderr, "worker: its page: %s (once, until %s; 'worker page' prints another link)\n", link, expires.Format(time.TimeOnly))
	return &pageDoor{web, func() {
		var left error
		if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, data) {
			left = os.Remove(file)
		}
		if err := errors.Join(left, os.Remove(lock.Path()), lock.Close()); err != nil {
			p.Logger().Warn("removing the note of where the page is", "err", err)
		}
	}}, nil
}

// pageServer is a door with a page.
type pageServer interface {
	door
	URL() string
}

// startPage serves the page beside an MCP server on stdio, until ctx ends.
func (p *program) startPage(ctx context.Context, a *app.Worker, addr string) (pageServer, error) {
	token, err := httpserver.OpenToken(filepath.Join(a.Workspace.StateDir, pagelink.TokenFile))
	if err != nil {
		return nil, err
	}
	web, err := httpserver.Start(ctx, addr, p.webOptions(a, token))
	if err != nil {
		return nil, fmt.Errorf("--page %s: %w", addr, err)
	}
	withPage, err := p.announcePage(a, web)
	if err != nil {
		p.Logger().Warn("the page", "err", err)
		return web, nil
	}
	return withPage, nil
}
