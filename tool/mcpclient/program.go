package mcpclient

import (
	"bufio"
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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
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
		return fmt.Errorf("the MCP server %s may not reach %s: %s allows it", c.server.Name, at, c.naming(at))
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

// naming is the command that names a host which the server may reach.
func (c *connection) naming(host string) string {
	if c.server.Literal { // an editor has brought it
		return fmt.Sprintf("'worker acp --server-host %s=%s'", c.server.Name, host)
	}
	return fmt.Sprintf("'worker mcp servers trust %s --host %s'", c.server.Name, host)
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
	written := sandbox.WrittenIn(c.ws.SandboxProfile(rules, true))
	said := append(given(c.said.Read, sandbox.Read, written), given(c.said.Write, sandbox.Write, written)...)
	p := c.ws.SandboxProfile(rules, false, said...)
	for _, folder := range stdio.Folders(p.Home, written, c.server.Command, c.server.Args, c.ws.Environ()) {
		if slices.ContainsFunc(said, func(f sandbox.Folder) bool { return gitplace.Within(f.Path, folder) }) {
			continue // it is shown, and rules hold in it
		}
		p.Programs = append(p.Programs, folder)
		p.Folders = append(p.Folders, sandbox.Folder{Path: folder, Access: sandbox.Read})
	}
	if cache != "" {
		p.Folders = append(p.Folders, sandbox.Folder{Path: cache, Access: sandbox.Write})
	}
	return p
}

// given returns the folders that the person who trusts the server has named. A path through a link that an agent
// may have made is left out.
func given(paths []string, access sandbox.Access, written []string) (folders []sandbox.Folder) {
	for _, path := range paths {
		if real, err := sandbox.RealPath(path, written); err == nil {
			folders = append(folders, sandbox.Folder{Path: real, Access: access, Given: true})
		}
	}
	return folders
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

// cache returns the server's folder below root. Servers share one only in the same workspace, with the same
// content, scripts and trust: what one writes there another may run.
func (c *connection) cache(root string) (string, error) {
	said := c.said
	said.Time = time.Time{}
	text, err := json.Marshal(said)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(text, "\n%q %s", c.servers.opts.Root, c.server.Hash()))
	return filepath.Join(root, hex.EncodeToString(sum[:16])), nil
}

// program starts the server's program.
func (c *connection) program(server *mcpconfig.Server) (_ mcp.Transport, _ *running, err error) {
	dir := c.ws.Root()
	if server.Cwd != "" {
		if dir = server.Cwd; !filepath.IsAbs(dir) {
			dir = filepath.Join(c.ws.Root(), dir)
		}
	}
	cache := ""
	if root := c.servers.opts.CacheDir; root != "" {
		if cache, err = c.cache(root); err != nil {
			return nil, nil, err
		}
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return nil, nil, err
		}
	}
	args := append([]string{server.Command}, server.Args...)
	box, err := c.sandboxed()
	if err != nil {
		return nil, nil, err
	}
	p, err := stdio.Start(box, &sandbox.Command{Profile: c.profile(c.rules.Load(), cache), Args: args, Dir: dir, Env: c.environ(server, cache)})
	if err != nil {
		return nil, nil, err
	}
	lines := &messages{r: bufio.NewReaderSize(p.Out, 64<<10), file: p.Out, other: p}
	return &mcp.IOTransport{Reader: lines, Writer: p.In}, &running{gone: p.Gone(), end: p.End, how: p.How}, nil
}
