package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/permissions"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt/conversation"
)

// pageFile is the file in the state folder with the address of the page.
const pageFile = "page.json"

// pageAddress is the content of that file.
type pageAddress struct {
	URL  string `json:"url"`
	PID  int    `json:"pid"`
	Lock string `json:"lock"` // the file in the same folder that the process keeps locked while it listens
}

// Locks are files of their own, one of each process: page-RANDOM.lock.
const (
	pageLockPrefix = "page-"
	pageLockSuffix = ".lock"
)

// served reports whether the process that wrote the file still listens. After a kill its
// port may belong to another program, which must not get the token.
func (address *pageAddress) served(stateDir string) bool {
	if filepath.Base(address.Lock) != address.Lock || !strings.HasPrefix(address.Lock, pageLockPrefix) {
		return false
	}
	lock := flock.New(filepath.Join(stateDir, address.Lock), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock() // shared, so that two that look do not see each other
	return errors.Join(err, lock.Close()) == nil && !free
}

// dial connects to the process that wrote the file, and to no other.
func (address *pageAddress) dial(ctx context.Context, stateDir, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !address.served(stateDir) { // the lock is checked after the connection was made, so the port is still the process's
		return nil, errors.Join(errors.New("it has exited"), conn.Close())
	}
	return conn, nil
}

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
	link, err := askPageLink(ctx, ws.StateDir)
	if err != nil {
		return err
	}
	if !open {
		_, err = fmt.Fprintln(p.Stdout, link)
		return err
	}
	return openLink(ctx, filepath.Join(ws.StateDir, "page.html"), link)
}

// errNoPage is why there is no link.
var errNoPage = errors.New("no worker of this workspace serves a page: start 'worker serve', or 'worker mcp --page'")

// askPageLink asks the worker that serves the page for a link.
func askPageLink(ctx context.Context, stateDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(stateDir, pageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoPage
	}
	if err != nil {
		return "", err
	}
	var address pageAddress
	if err := json.Unmarshal(data, &address); err != nil {
		return "", fmt.Errorf("reading %s: %w", filepath.Join(stateDir, pageFile), err)
	}
	token, err := httpserver.OpenToken(filepath.Join(stateDir, tokenFile))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.URL+"/v1/page/links", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{ // no proxy: it is this machine
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return address.dial(ctx, stateDir, network, addr)
		},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w (the last one, process %d at %s, does not answer)", errNoPage, address.PID, address.URL)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return "", err
	}
	var made struct{ URL string }
	if resp.StatusCode != http.StatusCreated || json.Unmarshal(body, &made) != nil || made.URL == "" {
		return "", fmt.Errorf("%s has answered %s: %s", address.URL, resp.Status, termtext.OneLine(string(body), 300))
	}
	return made.URL, nil
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
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = secrets.Environ(os.Environ()) // the browser may stay for days
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("opening the browser by %s: %w: %s; 'worker page' prints the link", command[0], err, termtext.OneLine(string(out), 300))
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
		Tasks: a.Tasks, Sessions: a.Sessions.Store(), Bus: a.Bus, Token: token, Logger: p.Logger(), Page: p.pageOptions(a), Upkeep: a.Upkeep(), Audit: a.Audit, MaxStreams: p.Settings.MaxStreams,
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
	lock, err := lockPage(a.Workspace.StateDir)
	if err != nil {
		return nil, fmt.Errorf("noting where the page is: %w", err)
	}
	data, err := json.Marshal(pageAddress{web.URL(), os.Getpid(), filepath.Base(lock.Path())})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	file := filepath.Join(a.Workspace.StateDir, pageFile)
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

// lockPage makes this process's lock, and removes those of killed processes.
func lockPage(stateDir string) (*flock.Flock, error) {
	left, err := filepath.Glob(filepath.Join(stateDir, pageLockPrefix+"*"+pageLockSuffix))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // it may be about to be locked
		}
		old := flock.New(path, flock.SetFlag(os.O_RDWR))
		if free, err := old.TryLock(); err == nil && free {
			_ = os.Remove(path) // another process may have
		}
		_ = old.Close()
	}
	lock := flock.New(filepath.Join(stateDir, pageLockPrefix+rand.Text()+pageLockSuffix), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("locking %s failed", lock.Path()), err, lock.Close())
	}
	return lock, nil
}

// pageServer is a door with a page.
type pageServer interface {
	door
	URL() string
}

// startPage serves the page beside an MCP server on stdio, until ctx ends.
func (p *program) startPage(ctx context.Context, a *app.Worker, addr string) (pageServer, error) {
	token, err := httpserver.OpenToken(filepath.Join(a.Workspace.StateDir, tokenFile))
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
