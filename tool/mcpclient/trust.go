package mcpclient

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/trusted"
	"github.com/agentworker/worker/permission"
)

// Trusted is what a person has said of one content of a server.
type Trusted struct {
	Name  string    `json:"name"`
	Time  time.Time `json:"time"`
	Allow bool      `json:"allow,omitempty"` // its tools are not asked about; rules can still ask and deny
	Hosts []string  `json:"hosts,omitempty"` // what its program, or its login on this network, may reach: HOST, HOST:PORT or *.DOMAIN
	Read  []string  `json:"read,omitempty"`  // folders besides the workspace that its program sees, absolute
	Write []string  `json:"write,omitempty"` // folders that it writes in, absolute
}

// TrustedName implements [trusted.Named].
func (t Trusted) TrustedName() string { return t.Name }

// Trust has the contents of servers that a person trusts, by their hashes. It is a file of
// the user's state, and safe for concurrent use, also by several processes.
type Trust struct{ file *trusted.File[Trusted] }

// OpenTrust returns what the file at path says. The file need not exist.
func OpenTrust(path string) *Trust { return &Trust{trusted.Open[Trusted](path)} }

// Of returns what is said of a server; false means that nobody trusts its present content. A file
// that can't be read trusts nothing.
func (t *Trust) Of(s *mcpconfig.Server) (Trusted, bool) {
	all, err := t.file.Read()
	if err != nil {
		return Trusted{}, false
	}
	found, ok := all[s.Hash()]
	return found, ok
}

// Rules returns what the trust allows as rules: the tools of servers that are not asked about.
func (t *Trust) Rules() []permission.Rule {
	all, _ := t.file.Read()
	var rules []permission.Rule
	for _, hash := range slices.Sorted(maps.Keys(all)) {
		if all[hash].Allow {
			rules = append(rules, permission.Rule{
				Tool: "mcp__" + Part(all[hash].Name) + "__*", Pattern: "*", Action: permission.Allow, Source: permission.Source{File: t.file.Path()},
			})
		}
	}
	return rules
}

// Before returns what is trusted of a server by its name, whatever its content was.
func (t *Trust) Before(name string) bool {
	return trusted.HasName(t.file, name)
}

// Add trusts the present content of a server, and no other content of its name any more.
func (t *Trust) Add(s *mcpconfig.Server, said Trusted) error {
	for _, host := range said.Hosts {
		if err := CheckHost(host); err != nil {
			return err
		}
	}
	for _, folder := range slices.Concat(said.Read, said.Write) {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) == "/" {
			return fmt.Errorf("%q is no folder that a server can be given: name one by its absolute path", folder)
		}
	}
	said.Name = s.Name
	return trusted.Set(t.file, s.Hash(), said)
}

// Forget trusts no content of a server of the name. It reports whether one was trusted.
func (t *Trust) Forget(name string) (known bool, err error) {
	return trusted.Forget(t.file, name)
}

// CheckHost returns what is wrong with a host that a server may reach.
func CheckHost(host string) error {
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
