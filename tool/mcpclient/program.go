package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/headtail"
)

// sandboxed returns the sandbox of the server's program.
func (c *connection) sandboxed() (*sandbox.Session, error) {
	switch {
	case c.closed:
		return nil, errors.New("the session has ended")
	case c.box != nil:
		return c.box, nil
	}
	opts := c.servers.opts.Sandbox
	opts.Network = c.reach
	if opts.Dir != "" {
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	box, err := sandbox.Open(opts)
	c.box = box
	return box, err
}

// reach decides on a connection of the program: the person who trusts it has named the
// host, and no rule of the session denies it. An address of this machine or its network must
// be named itself.
func (c *connection) reach(_ context.Context, at, name string) error {
	switch {
	case name == "" && !reaches(c.said.Hosts, at):
		remedy := fmt.Sprintf("'worker mcp servers trust %s --host %s'", c.server.Name, at)
		if c.server.Literal { // an editor has brought it
			remedy = fmt.Sprintf("'worker acp --server-host %s=%s'", c.server.Name, at)
		}
		return fmt.Errorf("the MCP server %s may not reach %s: %s allows it", c.server.Name, at, remedy)
	case name != "" && hostport.Internal(at) && !reaches(c.said.Hosts, at):
		return fmt.Errorf("%s leads to %s, an address of this machine or its network", name, at)
	}
	if rules := c.rules.Load(); rules != nil {
		d := rules.Decide([]permission.Value{{Tool: tool.NetworkTool, Text: at, Kind: permission.Reached}})
		if d.Action == permission.Deny {
			return fmt.Errorf("a rule denies %s", at)
		}
	}
	return nil
}

// held reports whether the sandbox holds the program to the rules, and if not, why.
func (c *connection) held(rules *permission.Layers) (bool, string) {
	_ = c.lock(context.Background())
	defer c.unlock()
	box, err := c.sandboxed()
	if err != nil {
		return false, err.Error()
	}
	held, why, err := box.Holds(c.profile(rules, ""))
	if err != nil {
		return false, err.Error()
	}
	return held, strings.Join(why, "; ")
}

// profile is what the program may touch: the same as the session, and a cache folder.
func (c *connection) profile(rules *permission.Layers, cache string) *sandbox.Profile {
	p := c.ws.SandboxProfile(rules, false)
	p.Programs = append(programFolders(c.server, c.ws.Environ()), c.said.Read...)
	for _, folder := range p.Programs {
		p.Folders = append(p.Folders, sandbox.Folder{Path: folder, Access: sandbox.Read})
	}
	for _, folder := range c.said.Write {
		p.Folders = append(p.Folders, sandbox.Folder{Path: folder, Access: sandbox.Write})
	}
	if cache != "" {
		p.Folders = append(p.Folders, sandbox.Folder{Path: cache, Access: sandbox.Write})
	}
	return p
}

// programFolders are the folders of the program itself: where it lies, or the script that an
// interpreter is given first. Of a package of npm that is all of its node_modules, and of a
// virtual environment of Python all of that.
func programFolders(s *mcpconfig.Server, env []string) (folders []string) {
	for i, word := range append([]string{lookPath(s.Command, env)}, s.Args...) {
		if i > 0 && strings.HasPrefix(word, "-") {
			continue
		}
		if i > 1 {
			break
		}
		if !filepath.IsAbs(word) {
			continue
		}
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		names := []string{word}
		if real, err := filepath.EvalSymlinks(word); err == nil && real != word {
			names = append(names, real)
		}
		for _, name := range names {
			dir := filepath.Dir(name)
			if before, _, ok := strings.Cut(dir+"/", "/node_modules/"); ok {
				dir = before + "/node_modules"
			} else if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg")); err == nil {
				dir = filepath.Dir(dir)
			}
			if !slices.Contains(folders, dir) && !slices.Contains(systemFolders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	return folders
}

// systemFolders are shown to all commands.
var systemFolders = []string{"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"}

// lookPath returns the path of a program by the PATH of env. A name with a slash is a path.
func lookPath(name string, env []string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, e := range env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			at := filepath.Join(dir, name)
			if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return at
			}
		}
	}
	return name
}

// caches are the variables by which programs are told where to keep what they download.
var caches = map[string]string{"XDG_CACHE_HOME": "", "npm_config_cache": "npm", "UV_CACHE_DIR": "uv", "UV_TOOL_DIR": "uv-tools", "PIP_CACHE_DIR": "pip", "DENO_DIR": "deno", "BUN_INSTALL_CACHE_DIR": "bun"}

// environ is the environment of the program.
func (c *connection) environ(server *mcpconfig.Server, cache string) []string {
	env := slices.Clone(c.ws.Environ())
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+value)
	}
	if cache != "" {
		for name, folder := range caches {
			set(name, filepath.Join(cache, folder))
		}
	}
	for name, value := range server.Env {
		set(name, value)
	}
	return env
}

// program starts the server's program.
func (c *connection) program(server *mcpconfig.Server) (mcp.Transport, *running, error) {
	dir := c.ws.Root()
	if server.Cwd != "" {
		if dir = server.Cwd; !filepath.IsAbs(dir) {
			dir = filepath.Join(c.ws.Root(), dir)
		}
	}
	cache := ""
	if root := c.servers.opts.CacheDir; root != "" {
		cache = filepath.Join(root, c.server.Hash()[:16])
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return nil, nil, err
		}
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, nil, err
	}
	args := append([]string{server.Command}, server.Args...)
	cmd := &sandbox.Command{Profile: c.profile(c.rules.Load(), cache), Args: args, Dir: dir, Env: c.environ(server, cache), Stdin: pipes.in, Stdout: pipes.out, Stderr: pipes.err}
	p, err := c.begin(cmd)
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, nil, err
	}
	r := &process{program: p, pipes: pipes, gone: make(chan struct{}), said: &headtail.Buffer{Limit: 4 << 10}, read: make(chan struct{})}
	go r.hear()
	go r.wait()
	lines := &messages{r: bufio.NewReaderSize(pipes.reads, 64<<10), file: pipes.reads, other: r.said}
	return &mcp.IOTransport{Reader: lines, Writer: pipes.writes}, &running{gone: r.gone, end: r.end, how: r.how}, nil
}
