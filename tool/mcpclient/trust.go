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

	// Files are the hashes of the files of the workspace that it runs, by their paths there. [Trust.Add] sets it.
	Files map[string]string `json:"files,omitempty"`
}

// TrustedName implements [trusted.Named].
func (t Trusted) TrustedName() string { return t.Name }

// Trust has the contents of servers that a person trusts, by their hashes. It is a file of
// the user's state, and safe for concurrent use, also by several processes.
type Trust struct {
	file   *trusted.File[Trusted]
	root   string
	lookup func(name string) (value string, present bool)
}

// OpenTrust returns what the file at path says of the servers of the workspace at root. The file need not
// exist. lookup returns variables of the environment, which servers may name.
func OpenTrust(path, root string, lookup func(name string) (value string, present bool)) *Trust {
	return &Trust{trusted.Open[Trusted](path), root, lookup}
}

// Of returns what is said of a server; false means that nobody trusts its present content. A file
// that can't be read trusts nothing. changed says which file that the server runs has changed since.
func (t *Trust) Of(s *mcpconfig.Server) (said Trusted, ok bool, changed string) {
	all, err := t.file.Read()
	if err != nil {
		return Trusted{}, false, ""
	}
	if said, ok = all[s.Hash()]; !ok {
		return Trusted{}, false, ""
	}
	if changed = t.changed(s, said, t.root); changed != "" {
		return Trusted{}, false, changed
	}
	return said, true, ""
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

// allowed reports whether the calls of another server whose tools have the names of this one's are
// allowed, and those of this one's content are not.
func (t *Trust) allowed(s *mcpconfig.Server) bool {
	all, _ := t.file.Read()
	if all[s.Hash()].Allow {
		return false
	}
	for _, said := range all {
		if said.Allow && strings.HasPrefix(Part(s.Name)+"__", Part(said.Name)+"__") {
			return true
		}
	}
	return false
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
	var err error
	if said.Files, err = t.files(s, said, t.root); err != nil {
		return err
	}
	return trusted.Set(t.file, s.Hash(), said)
}

// Forget trusts no content of a server of the name. It reports whether one was trusted.
func (t *Trust) Forget(name string) (known bool, err error) {
	return trusted.Forget(t.file, name)
}

// State says whether a server may run.
type State string

// The states.
const (
	Ready     State = "ready"
	Untrusted State = "not trusted" // a person has not said yes to its content
	Changed   State = "changed"     // a person has said yes to an earlier content
	Forbidden State = "forbidden"   // by the policy
	Off       State = "off"         // by its file
)

// Status is a server, and whether it may run.
type Status struct {
	*mcpconfig.Server
	State   State
	Why     string // more about it, for people
	Trusted Trusted
	Tools   int // in the kept list; -1: none is kept
}

// Status says whether a server may run.
func (s *Servers) Status(server *mcpconfig.Server) Status {
	st := Status{Server: server, State: Ready, Tools: -1}
	if tools := s.list(server); tools != nil {
		st.Tools = len(tools)
	}
	said, trusted, changed := s.opts.Trust.Of(server)
	st.Trusted = said
	st.Trusted.Hosts = slices.Concat(said.Hosts, server.Reaches)
	switch {
	case server.Off:
		st.State, st.Why = Off, "its file switches it off"
	case s.forbids(server) != nil:
		st.State, st.Why = Forbidden, s.forbids(server).Error()
	case server.Repository && s.opts.Always:
	case changed != "":
		st.State, st.Why = Changed, changed+"; 'worker mcp servers trust "+server.Name+"' trusts what it is now"
	case !server.Repository && !s.opts.Always && s.opts.Trust.allowed(server):
		st.State, st.Why = Changed, "you allow the calls of another server of its name: 'worker mcp servers trust "+server.Name+"' trusts this one instead, 'worker mcp servers forget "+server.Name+"' takes the trust back"
	case !server.Repository || trusted && !s.opts.Trust.allowed(server):
	case s.opts.Trust.Before(server.Name):
		st.State, st.Why = Changed, "it is no longer what you have trusted; 'worker mcp servers trust "+server.Name+"' shows what it is now"
	default:
		st.State, st.Why = Untrusted, "the repository names it; 'worker mcp servers trust "+server.Name+"' shows what would run"
	}
	return st
}

func (s *Servers) forbids(server *mcpconfig.Server) error {
	if s.opts.Policy == nil {
		return nil
	}
	return s.opts.Policy(server)
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
