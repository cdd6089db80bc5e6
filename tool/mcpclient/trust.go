package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
)

// Trusted is what a person has said of one content of a server.
type Trusted struct {
	Name  string    `json:"name"`
	Time  time.Time `json:"time"`
	Allow bool      `json:"allow,omitempty"` // its tools are not asked about; rules can still ask and deny
	Hosts []string  `json:"hosts,omitempty"` // what its program may reach: HOST, HOST:PORT or *.DOMAIN
	Read  []string  `json:"read,omitempty"`  // folders besides the workspace that its program sees, absolute
	Write []string  `json:"write,omitempty"` // folders that it writes in, absolute
}

// Trust has the contents of servers that a person trusts, by their hashes. It is a file of
// the user's state, and safe for concurrent use, also by several processes.
type Trust struct {
	path string

	mu   sync.Mutex
	info fs.FileInfo // of the file as it was read
	all  map[string]Trusted
	err  error
}

// OpenTrust returns what the file at path says. The file need not exist.
func OpenTrust(path string) *Trust { return &Trust{path: path} }

// maxTrust bounds the file, in bytes.
const maxTrust = 4 << 20

// Of returns what is said of a server; false means that nobody trusts its present content. A file
// that can't be read trusts nothing.
func (t *Trust) Of(s *mcpconfig.Server) (Trusted, bool) {
	all, err := t.read()
	if err != nil {
		return Trusted{}, false
	}
	found, ok := all[s.Hash()]
	return found, ok
}

// Rules returns what the trust allows as rules: the tools of servers that are not asked about.
func (t *Trust) Rules() []permission.Rule {
	all, _ := t.read()
	var rules []permission.Rule
	for _, hash := range slices.Sorted(maps.Keys(all)) {
		if all[hash].Allow {
			rules = append(rules, permission.Rule{
				Tool: "mcp__" + Part(all[hash].Name) + "__*", Pattern: "*", Action: permission.Allow, Source: permission.Source{File: t.path},
			})
		}
	}
	return rules
}

// Before returns what is trusted of a server by its name, whatever its content was.
func (t *Trust) Before(name string) bool {
	all, _ := t.read()
	for _, found := range all {
		if found.Name == name {
			return true
		}
	}
	return false
}

// Add trusts the present content of a server, and no other content of its name any more.
func (t *Trust) Add(s *mcpconfig.Server, said Trusted) error {
	for _, host := range said.Hosts {
		if err := checkHost(host); err != nil {
			return err
		}
	}
	for _, folder := range slices.Concat(said.Read, said.Write) {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) == "/" {
			return fmt.Errorf("%q is no folder that a server can be given: name one by its absolute path", folder)
		}
	}
	said.Name = s.Name
	return t.change(func(all map[string]Trusted) {
		remove(all, s.Name)
		all[s.Hash()] = said
	})
}

// Forget trusts no content of a server of the name. It reports whether one was trusted.
func (t *Trust) Forget(name string) (known bool, err error) {
	err = t.change(func(all map[string]Trusted) { known = remove(all, name) })
	return known, err
}

func remove(all map[string]Trusted, name string) (known bool) {
	for hash, found := range all {
		if found.Name == name {
			delete(all, hash)
			known = true
		}
	}
	return known
}

// read returns what the file says now. The caller must not change it.
func (t *Trust) read() (map[string]Trusted, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.info, t.all, t.err = nil, nil, nil
		return nil, nil
	case err != nil:
		return nil, err
	case t.info != nil && os.SameFile(info, t.info) && info.ModTime().Equal(t.info.ModTime()) && info.Size() == t.info.Size():
		return t.all, t.err
	}
	t.info = info
	t.all, t.err = load(t.path)
	return t.all, t.err
}

func load(path string) (map[string]Trusted, error) {
	text, err := boundedfile.Read(path, maxTrust)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Trusted{}, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]Trusted{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// change replaces the file. What two processes say at the same time is said one after the
// other by whoever repeats it: the file has one of them.
func (t *Trust) change(do func(all map[string]Trusted)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := load(t.path)
	if err != nil {
		return err
	}
	do(all)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	t.info = nil
	return errors.Join(os.MkdirAll(filepath.Dir(t.path), 0o700), atomicfile.Write(t.path, append(text, '\n'), 0o600))
}

// checkHost returns what is wrong with a host that a server may reach.
func checkHost(host string) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(host, "*."), ":")
	if name == "" || strings.ContainsAny(host, " /*@\t\n") && !strings.HasPrefix(host, "*.") || strings.Contains(host, "://") {
		return fmt.Errorf("%q is no host: write NAME, NAME:PORT or *.DOMAIN", host)
	}
	return nil
}

// reaches reports whether one of the hosts names hostport.
func reaches(hosts []string, hostport string) bool {
	hostport = strings.ToLower(hostport)
	return slices.ContainsFunc(hosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		if !hasPort(allowed) {
			host := hostport[:max(0, strings.LastIndexByte(hostport, ':'))]
			if domain, any := strings.CutPrefix(allowed, "*."); any {
				return strings.HasSuffix(host, "."+domain)
			}
			return strings.Trim(host, "[]") == strings.Trim(allowed, "[]")
		}
		if domain, any := strings.CutPrefix(allowed, "*."); any {
			return strings.HasSuffix(hostport, "."+domain)
		}
		return hostport == allowed
	})
}

// hasPort reports whether a host ends in a port.
func hasPort(host string) bool {
	at := strings.LastIndexByte(host, ':')
	return at > 0 && (host[at-1] == ']' || strings.Count(host, ":") == 1)
}
