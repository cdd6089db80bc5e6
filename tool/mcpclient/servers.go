package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// Options are what the servers of a workspace depend on.
type Options struct {
	Own      []*mcpconfig.Server // from the user's settings
	Files    []mcpconfig.File    // further files, the ones that win first
	Trust    *Trust
	Always   bool                                           // the repository's are trusted as they are
	Root     string                                         // the workspace, where a headersHelper runs
	Policy   func(s *mcpconfig.Server) error                // what an administrator forbids; nil means nothing
	Rules    func() (*permission.Layers, error)             // those by which a server runs that only lists its tools
	Lookup   func(name string) (value string, present bool) // variables of the environment
	StateDir string                                         // of the workspace
	CacheDir string                                         // what servers keep from run to run
	Sandbox  sandbox.Options                                // Dir, Mode and Support
	Version  string
	Logger   *slog.Logger
}

// Servers are the MCP servers of a workspace. It is safe for concurrent use. Close it once
// no call of a tool runs any more.
type Servers struct {
	opts  Options
	lists lists
	pages pages

	logins logins

	mu      sync.Mutex
	files   map[string]readFile            // by path
	known   map[string]kept                // by the hashes of servers
	open    stdio.Connections[*connection] // by sessions, then by the hashes of servers
	failed  map[string]failure             // by the hashes of servers
	version int                            // counts changes of lists
}

// kept is the list of a server's tools; nil tools mean that none is kept.
type kept struct{ tools []listed }

// readFile is a file as it was read.
type readFile struct {
	info    fs.FileInfo
	servers []*mcpconfig.Server
	err     error
}

// New returns the servers of a workspace. It starts nothing.
func New(opts Options) *Servers {
	return &Servers{opts: opts, lists: lists{filepath.Join(opts.StateDir, "mcp")}, logins: logins{filepath.Join(opts.StateDir, "mcp-logins")}, files: map[string]readFile{}, known: map[string]kept{}, failed: map[string]failure{}}
}

// Configured returns the servers that there are now: the user's own, then those of files.
// Of two of one name the first counts. The error says what can't be read.
func (s *Servers) Configured() ([]*mcpconfig.Server, error) {
	all := slices.Clone(s.opts.Own)
	var errs []error
	for _, f := range s.opts.Files {
		found, err := s.read(f)
		all, errs = append(all, found...), append(errs, err)
	}
	return withoutTwins(all), errors.Join(errs...)
}

// withoutTwins returns servers without those whose tools would have the names of an earlier one's.
func withoutTwins(all []*mcpconfig.Server) []*mcpconfig.Server {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(server *mcpconfig.Server) bool {
		part := Part(server.Name)
		again := seen[part]
		seen[part] = true
		return again
	})
}

// read returns the servers of a file, which is read anew once it has changed.
func (s *Servers) read(f mcpconfig.File) ([]*mcpconfig.Server, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		info = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, read := s.files[f.Path]
	if read && (info == nil) == (was.info == nil) && (info == nil || os.SameFile(info, was.info) && info.ModTime().Equal(was.info.ModTime()) && info.Size() == was.info.Size()) {
		return was.servers, was.err
	}
	servers, err := f.Read()
	s.files[f.Path] = readFile{info, servers, err}
	return servers, err
}

// list returns the kept list of a server; nil means that there is none.
func (s *Servers) list(server *mcpconfig.Server) []listed {
	hash := server.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[hash]; ok {
		return known.tools
	}
	tools, err := s.lists.load(server)
	if err != nil {
		s.log("reading the kept list of an MCP server's tools", server, err)
	}
	s.known[hash] = kept{tools}
	return tools
}

// keep keeps the new list of a server.
func (s *Servers) keep(server *mcpconfig.Server, tools []listed) {
	changed, err := s.lists.store(server, tools)
	if err != nil {
		s.log("keeping the list of an MCP server's tools", server, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed || s.known[server.Hash()].tools == nil {
		s.known[server.Hash()] = kept{tools}
		s.version++
	}
}

// Forget removes the kept list of a server, and the login with it.
func (s *Servers) Forget(server *mcpconfig.Server) error {
	s.mu.Lock()
	delete(s.known, server.Hash())
	s.version++
	s.mu.Unlock()
	return errors.Join(s.lists.forget(server), s.logins.forget(server))
}

func (s *Servers) debug(server *mcpconfig.Server, said string) {
	if s.opts.Logger != nil {
		s.opts.Logger.Debug("an MCP server's log", "server", server.Name, "said", said)
	}
}

func (s *Servers) log(what string, server *mcpconfig.Server, err error) {
	if s.opts.Logger != nil {
		s.opts.Logger.Warn(what, "server", server.Name, "err", err)
	}
}

// Selected returns the servers that an agent has, by what its file says; nil says nothing.
// missing are the names that no server has, with what to do.
func (s *Servers) Selected(by *mcpconfig.Selection) (all []Status, missing []string) {
	configured, _ := s.Configured()
	if by != nil {
		configured = withoutTwins(slices.Concat(by.Own, configured))
	}
	if by == nil || by.All {
		for _, server := range configured {
			all = append(all, s.Status(server))
		}
		return all, nil
	}
	for _, server := range by.Inline {
		all = append(all, s.Status(server))
	}
	for _, name := range by.Names {
		i := slices.IndexFunc(configured, func(c *mcpconfig.Server) bool { return c.Name == name || Part(c.Name) == Part(name) })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("the MCP server %s is not configured: add it to .mcp.json, or name the program that has it with --mcp-from", name))
			continue
		}
		all = append(all, s.Status(configured[i]))
	}
	return all, missing
}

// Lacking says in sentences for people which servers of an agent do not run, and what to do.
func (s *Servers) Lacking(by *mcpconfig.Selection) []string {
	all, lacking := s.Selected(by)
	for _, st := range all {
		if by != nil && st.State != Ready && (!by.All || slices.Contains(by.Own, st.Server)) {
			lacking = append(lacking, fmt.Sprintf("the MCP server %s (%s) is %s: %s", st.Name, st.Source(), st.State, st.Why))
		}
	}
	return lacking
}

// readyTime bounds how long a session waits for lists of tools before it begins.
const readyTime = 10 * time.Second

// againTime is after what time a server is asked again that could not list its tools.
const againTime = time.Minute

// failure is why a server could not list its tools.
type failure struct {
	text string
	at   time.Time
}

// Ready waits until the tools of an agent's servers are known, 10 seconds at most. A server
// without a kept list is asked for it, unless the agent's rules deny all its tools. Ready
// returns what went wrong, a sentence for each server.
func (s *Servers) Ready(ctx context.Context, by *mcpconfig.Selection, rules *permission.Ruleset, ws *tool.Workspace) (warnings []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("it has not listed its tools within %s", errtext.Duration(readyTime)))
	defer cancel()
	all, _ := s.Selected(by)
	found := make([]string, len(all))
	var asking sync.WaitGroup
	for i, st := range all {
		if st.State != Ready || st.Tools >= 0 || !mayUse(rules, st.Name) {
			continue
		}
		asking.Go(func() { found[i] = s.ask(ctx, st.Server, ws) })
	}
	asking.Wait()
	return slices.DeleteFunc(found, func(text string) bool { return text == "" })
}

// ask has a server list its tools, and returns what went wrong. A server that has failed is left
// alone for a minute.
func (s *Servers) ask(ctx context.Context, server *mcpconfig.Server, ws *tool.Workspace) (wrong string) {
	hash := server.Hash()
	s.mu.Lock()
	last, failed := s.failed[hash]
	s.mu.Unlock()
	if failed && time.Since(last.at) < againTime {
		return last.text
	}
	_, err := s.List(ctx, server, ws)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, hash)
	if err == nil {
		return ""
	}
	wrong = fmt.Sprintf("%v (%s)", err, server.Source())
	s.failed[hash] = failure{wrong, time.Now()}
	return wrong
}

// mayUse reports whether an agent's rules leave some tool of a server.
func mayUse(rules *permission.Ruleset, server string) bool {
	part := Part(server)
	if !rules.DeniesAll("mcp__" + part + "__any") {
		return true
	}
	for r := range rules.Rules() {
		if r.Action != permission.Deny && strings.Contains(letters(strings.ToLower(r.Tool)), part) {
			return true
		}
	}
	return false
}

// Tools returns a function that returns the tools which the servers of an agent offer at the
// moment. It returns the same slice as long as nothing has changed.
func (s *Servers) Tools(by *mcpconfig.Selection, ws *tool.Workspace) func() []tool.Tool {
	var mu sync.Mutex
	var last []tool.Tool
	var lastKey string
	return func() []tool.Tool {
		all, _ := s.Selected(by)
		key := s.key(all)
		mu.Lock()
		defer mu.Unlock()
		if key != lastKey {
			lastKey, last = key, s.make(all, ws)
		}
		return last
	}
}

// key tells states of servers and their lists apart.
func (s *Servers) key(all []Status) string {
	s.mu.Lock()
	version := s.version
	s.mu.Unlock()
	var b strings.Builder
	fmt.Fprint(&b, version)
	for _, st := range all {
		fmt.Fprint(&b, "\n", st.Hash(), st.State, st.Tools, st.Trusted)
	}
	return b.String()
}

// make returns the tools of servers. A tool that would have the name of another one is left
// out, and so is one whose name lies among those of another server.
func (s *Servers) make(all []Status, ws *tool.Workspace) []tool.Tool {
	tools, seen := []tool.Tool{}, map[string]bool{}
	for _, st := range all {
		if st.State != Ready {
			continue
		}
		for _, t := range s.list(st.Server) {
			name := ToolName(st.Name, t.Name)
			if seen[name] || !st.Offers(t.Name) || amongOthers(st, t.Name, all) {
				continue
			}
			seen[name] = true
			tools = append(tools, &serverTool{servers: s, status: st, listed: t, name: name, ws: ws})
		}
	}
	if len(tools) > 0 {
		tools = append(tools, outputTool{&s.pages})
	}
	return tools
}

// amongOthers reports whether SERVER_TOOL, as some programs write it, would be a name of
// another server's tool.
func amongOthers(st Status, name string, all []Status) bool {
	plain := Part(st.Name) + "_" + letters(name)
	return slices.ContainsFunc(all, func(o Status) bool {
		return len(Part(o.Name)) > len(Part(st.Name)) && strings.HasPrefix(plain, Part(o.Name)+"_")
	})
}

// Place is the servers as the sessions of one workspace or worktree have them.
type Place struct {
	servers *Servers
	ws      *tool.Workspace
}

// In returns the servers for sessions that work in ws.
func (s *Servers) In(ws *tool.Workspace) *Place { return &Place{s, ws} }

// Tools is [Servers.Tools] there.
func (p *Place) Tools(by *mcpconfig.Selection) func() []tool.Tool { return p.servers.Tools(by, p.ws) }

// Ready is [Servers.Ready] there.
func (p *Place) Ready(ctx context.Context, by *mcpconfig.Selection, rules *permission.Ruleset) []string {
	return p.servers.Ready(ctx, by, rules, p.ws)
}

// Lacking is [Servers.Lacking].
func (p *Place) Lacking(by *mcpconfig.Selection) []string { return p.servers.Lacking(by) }
