package lsp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// Times of a connection.
const (
	startTime = 60 * time.Second // until a server has answered initialize
	maxStarts = 3                // of one server in a session
)

// connection is a server that a session uses. It is opened at the first use, and again once the
// server has ended.
type connection struct {
	place    *Place
	server   *Server
	starting sync.WaitGroup   // added to by those that hold mu, while it is not closed
	box      *sandbox.Session // nil means there is none yet; only a start uses it, and then Close

	mu     sync.Mutex
	begun  *start  // nil means that none goes on
	client *client // nil means that none was started
	starts int
	told   string // why there are no diagnostics, as the session was told
	failed string // how the server has failed that ran before; the session has not been told
	closed bool
}

// connection returns that of a session with a server. It is not open before it is used.
func (p *Place) connection(sessionID string, server *Server) (*connection, error) {
	return p.servers.open.Get(sessionID, p.ws.Root()+"\n"+server.Hash(), func() *connection { return &connection{place: p, server: server} })
}

// End ends the servers of a session, and returns once nothing of them runs.
func (s *Servers) End(sessionID string) error {
	return s.open.End(sessionID)
}

// Close ends all servers.
func (s *Servers) Close() error { return s.open.Close() }

// sandboxed returns the sandbox of the server, which must hold it to the rules.
func (c *connection) sandboxed(profile *sandbox.Profile) (*sandbox.Session, error) {
	if c.box == nil {
		opts := c.place.servers.opts.Sandbox
		opts.Network = func(_ context.Context, at, _ string) error {
			return fmt.Errorf("a language server may not reach %s", at)
		}
		if opts.Dir != "" {
			if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
				return nil, err
			}
		}
		box, err := sandbox.Open(opts)
		if err != nil {
			return nil, err
		}
		c.box = box
	}
	held, why, err := c.box.Holds(profile)
	if err == nil && !held {
		err = errors.New("no sandbox holds it to the rules of the session: " + strings.Join(why, "; "))
	}
	return c.box, err
}

// noWriting are rules by which a language server changes nothing in the workspace.
var noWriting = permission.MustRuleset(
	permission.Rule{Tool: toolcatalog.WriteFile, Pattern: "*", Action: permission.Deny, Source: permission.Source{File: "built in"}},
	permission.Rule{Tool: toolcatalog.EditFile, Pattern: "*", Action: permission.Deny, Source: permission.Source{File: "built in"}},
)

// Try returns why a server would not start in a session with these rules; nil means it would. Nothing is
// started.
func (p *Place) Try(server *Server, rules *permission.Layers) (err error) {
	c := &connection{place: p, server: server}
	defer func() { err = errors.Join(err, c.Close()) }()
	_, profile, err := c.planned(rules)
	if err == nil {
		_, err = c.sandboxed(profile)
	}
	return err
}

// planned returns what the server runs, and what it may.
func (c *connection) planned(rules *permission.Layers) (args []string, profile *sandbox.Profile, err error) {
	ws := c.place.ws
	args = slices.Clone(c.server.Command)
	if args[0] = stdio.LookPath(args[0], ws.Environ()); !filepath.IsAbs(args[0]) {
		args[0] = filepath.Join(ws.Root(), args[0])
	}
	if info, err := os.Stat(args[0]); err != nil || !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("there is no program %s", c.server.Command[0])
	}
	held := *rules
	held.Agents = append(slices.Clip(held.Agents), noWriting)
	profile = ws.SandboxProfile(&held, false)
	profile.Programs = stdio.Folders(profile.Home, sandbox.WrittenIn(ws.SandboxProfile(rules, true)), args[0], args[1:], ws.Environ())
	for _, folder := range profile.Programs {
		profile.Folders = append(profile.Folders, sandbox.Folder{Path: folder, Access: sandbox.Read})
	}
	return args, profile, nil
}

// launch starts the program of the server.
func (c *connection) launch(rules *permission.Layers) (*client, error) {
	args, profile, err := c.planned(rules)
	if err != nil {
		return nil, err
	}
	ws := c.place.ws
	c.place.servers.swept.Do(c.place.servers.sweep)
	box, err := c.sandboxed(profile)
	if err != nil {
		return nil, err
	}
	env := slices.Clone(ws.Environ())
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+value)
	}
	for i, name := range c.server.caches {
		dir, err := c.cache(i, profile)
		if err != nil {
			return nil, err
		}
		if dir != "" {
			set(name, dir)
			profile.Folders = append(profile.Folders, sandbox.Folder{Path: dir, Access: sandbox.Write})
		}
	}
	for name, value := range c.server.Env {
		set(name, value)
	}
	process, err := stdio.Start(box, &sandbox.Command{Profile: profile, Args: args, Dir: ws.Root(), Env: env})
	if err != nil {
		return nil, err
	}
	return newClient(c.server, ws.Root(), c.place.servers.opts.Version, process), nil
}

// cache returns a folder that outlives the session; empty means there is none. Only servers with the
// same rules have the same one: what is in it tells of files that they may read.
func (c *connection) cache(i int, profile *sandbox.Profile) (string, error) {
	root := c.place.servers.opts.CacheDir
	if root == "" {
		return "", nil
	}
	rules, err := json.Marshal(profile)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Append(rules, c.server.Hash(), i))
	dir := filepath.Join(root, hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	return dir, os.Chtimes(dir, now, now)
}

// cacheDays is after how many days without a use a cache is removed.
const cacheDays = 14

// sweep removes the caches that were long unused.
func (s *Servers) sweep() {
	entries, _ := os.ReadDir(s.opts.CacheDir) // none: there is nothing to remove
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > cacheDays*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(s.opts.CacheDir, e.Name()))
		}
	}
}

// Close ends the server and its sandbox, and returns once nothing of it runs.
func (c *connection) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.starting.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.client != nil {
		err = c.client.end()
		c.client = nil
	}
	if c.box != nil {
		err = errors.Join(err, c.box.Close())
		c.box = nil
	}
	return err
}

// serverFor returns the server for a file, or why there is none.
func (p *Place) serverFor(path string) (*Server, error) {
	server := p.For(path)
	if server == nil {
		return nil, fmt.Errorf("no language server is there for files like %s%s", filepath.Base(path), p.servers.untrusted(p, path))
	}
	return server, nil
}

// errNoRules is the error of a call that a server can't be held to.
var errNoRules = errors.New("there are no rules to run a language server by")

// client returns the client of a server. It waits for its start.
func (p *Place) client(ctx context.Context, call *tool.Call, server *Server) (*client, error) {
	if call.Rules == nil {
		return nil, errNoRules
	}
	at, err := p.connection(call.SessionID, server)
	if err != nil {
		return nil, err
	}
	c, s, err := at.use(call.Rules)
	if s == nil {
		return c, err
	}
	select {
	case <-s.done:
		return s.client, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// untrusted says which server for a file may not run.
func (s *Servers) untrusted(p *Place, path string) string {
	for _, st := range p.all() {
		if _, ok := st.languageOf(path); ok && (st.State == Untrusted || st.State == Changed || st.State == Forbidden) {
			return fmt.Sprintf(": the one that %s names is %s", st.Source(), st.State)
		}
	}
	return ""
}

// errSlow is the error of a server that has not answered in time.
func errSlow(name string, after time.Duration) error {
	return fmt.Errorf("%s has not answered within %s", name, errtext.Duration(after))
}

// Running returns how many servers run.
func (s *Servers) Running() (n int) {
	for _, c := range s.open.All() {
		c.mu.Lock()
		if c.client != nil {
			n++
		}
		c.mu.Unlock()
	}
	return n
}
