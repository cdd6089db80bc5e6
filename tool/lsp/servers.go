package lsp

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// Options are what the language servers of a workspace depend on.
type Options struct {
	Root     string    // of the workspace
	Own      []*Server // from the user's settings
	Files    []File    // of the repository, the ones that win first
	Trust    *Trust
	Always   bool                // the repository's are trusted as they are
	Policy   func(*Server) error // why an administrator forbids a server; nil forbids none
	Off      bool                // there are none
	CacheDir string              // for what servers keep from session to session; empty means nothing is kept
	Sandbox  sandbox.Options     // Dir, Mode and Support
	Version  string
	Logger   *slog.Logger
}

// Servers are the language servers of a workspace. It is safe for concurrent use. Close it once no
// call of a tool runs any more.
type Servers struct {
	opts  Options
	swept sync.Once

	mu    sync.Mutex
	files map[string]readFile            // by path
	open  stdio.Connections[*connection] // by sessions, then by places and hashes of servers
}

// readFile is the outcome of reading a file.
type readFile struct {
	info    fs.FileInfo
	servers []*Server
	err     error
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
	*Server
	State State
	Why   string // more about it, for people
}

// New returns the servers of a workspace. It starts nothing.
func New(opts Options) *Servers {
	return &Servers{opts: opts, files: map[string]readFile{}}
}

// All returns the servers that there are now: the user's own, those of files, and those found in
// the PATH of env outside of the workspace. Of two of one name the first counts, and of two for one
// kind of files; one that nobody trusts, or that the policy forbids, counts for nothing. The error says what can't be read.
func (s *Servers) All(env []string) (all []Status, err error) {
	if s.opts.Off {
		return nil, nil
	}
	servers := slices.Clone(s.opts.Own)
	var errs []error
	for _, f := range s.opts.Files {
		found, err := s.read(f)
		servers, errs = append(servers, found...), append(errs, err)
	}
	for i := range known {
		k := known[i]
		if path, err := ownpath.LookIn(k.Command[0], env, s.opts.Root); err == nil {
			k.Command = append([]string{path}, k.Command[1:]...)
			servers = append(servers, &k)
		}
	}
	seen := map[string]bool{}
	for _, server := range servers {
		if seen[server.Name] {
			continue
		}
		st := s.status(server)
		seen[server.Name] = st.State == Ready || st.State == Off
		all = append(all, st)
	}
	return all, errors.Join(errs...)
}

func (s *Servers) status(server *Server) Status {
	st := Status{Server: server, State: Ready}
	if s.opts.Policy != nil {
		if err := s.opts.Policy(server); err != nil {
			st.State, st.Why = Forbidden, err.Error()
			return st
		}
	}
	switch {
	case server.Off:
		st.State, st.Why = Off, "its file switches it off"
	case !server.Repository || s.opts.Always || s.opts.Trust.has(server):
	case s.opts.Trust.before(server.Name):
		st.State, st.Why = Changed, "it is no longer what you have trusted: 'worker lsp trust' shows it"
	default:
		st.State, st.Why = Untrusted, "the repository names it: 'worker lsp trust' shows it, and lets it run"
	}
	return st
}

// read returns the servers of a file, which is read anew once it has changed.
func (s *Servers) read(f File) ([]*Server, error) {
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
	if err != nil {
		s.log("reading language servers", "file", f.Shown, "err", err)
	}
	s.files[f.Path] = readFile{info, servers, err}
	return servers, err
}

func (s *Servers) log(what string, args ...any) {
	if s.opts.Logger != nil {
		s.opts.Logger.Warn(what, args...)
	}
}

// Place is the servers as the sessions of one workspace or worktree have them.
type Place struct {
	servers *Servers
	ws      *tool.Workspace

	mu    sync.Mutex
	found []Status
	at    time.Time       // of the search
	kinds map[string]bool // the ends of the names of files that the workspace has
	from  time.Time       // of that search
}

// In returns the servers for sessions that work in ws.
func (s *Servers) In(ws *tool.Workspace) *Place { return &Place{servers: s, ws: ws} }

// searchAgain is how long what was found in PATH and files counts.
const searchAgain = 2 * time.Second

// all returns the servers that there are.
func (p *Place) all() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) > searchAgain {
		p.found, _ = p.servers.All(p.ws.Environ()) // what is wrong is logged, and doctor says it
		p.at = time.Now()
	}
	return p.found
}

// For returns the server for a file that may run; nil means there is none.
func (p *Place) For(path string) *Server {
	for _, st := range p.all() {
		if _, ok := st.languageOf(path); ok && st.State == Ready {
			return st.Server
		}
	}
	return nil
}

// maxLooked bounds the files that are looked at for their kinds, and kindsAgain how long they count.
const (
	maxLooked  = 5000
	kindsAgain = time.Minute
)

// Useful reports whether a server that may run is for files that the workspace has, as far as its
// first files tell.
func (p *Place) Useful() bool {
	all := p.all()
	if !slices.ContainsFunc(all, func(st Status) bool { return st.State == Ready }) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from.IsZero() || time.Since(p.from) > kindsAgain {
		p.kinds, p.from = kindsIn(p.ws.Root()), time.Now()
	}
	return slices.ContainsFunc(all, func(st Status) bool {
		if st.State != Ready {
			return false
		}
		for ext := range st.Languages {
			if p.kinds[ext] {
				return true
			}
		}
		return false
	})
}

// kindsIn returns the ends of names of files in a folder, folders near its top first.
func kindsIn(root string) map[string]bool {
	kinds, looked := map[string]bool{}, 0
	for dirs := []string{root}; len(dirs) > 0 && looked < maxLooked; dirs = dirs[1:] {
		entries, err := os.ReadDir(dirs[0])
		if err != nil {
			continue
		}
		for _, e := range entries {
			looked++
			switch name := e.Name(); {
			case e.IsDir() && !strings.HasPrefix(name, ".") && name != "node_modules" && name != "vendor":
				dirs = append(dirs, filepath.Join(dirs[0], name))
			case e.Type().IsRegular():
				kinds[strings.ToLower(filepath.Ext(name))] = true
			}
		}
	}
	return kinds
}
