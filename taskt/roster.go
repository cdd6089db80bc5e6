package taskt

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/tool"
)

// rosters are the agents of one snapshot, as each caller is offered them.
type rosters struct {
	snapshot *agentdefs.Snapshot
	agents   []*agentdefs.Definition // those that task may call
	named    map[string]bool         // the callers that an agent names

	mu       sync.Mutex
	byCaller map[string]*roster
}

// roster is what a caller is offered. It is immutable.
type roster struct {
	agents []*agentdefs.Definition // by name, without hidden ones
	spec   tool.Spec               // of the task tool
}

func newRosters(snapshot *agentdefs.Snapshot) *rosters {
	r := &rosters{
		snapshot: snapshot,
		agents:   snapshot.Subagents(),
		named:    make(map[string]bool),
		byCaller: make(map[string]*roster),
	}
	for _, d := range r.agents {
		for _, caller := range d.Callers {
			r.named[caller] = true
		}
	}
	return r
}

// of returns what a caller is offered. It is made once: to all whom no agent
// names, the same.
func (r *rosters) of(caller string) *roster {
	if !r.named[caller] {
		caller = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if made := r.byCaller[caller]; made != nil {
		return made
	}
	made := new(roster)
	for _, d := range r.agents {
		if !d.Hidden && mayCall(caller, d) {
			made.agents = append(made.agents, d)
		}
	}
	made.spec = newSpec(made.agents, offered)
	r.byCaller[caller] = made
	return made
}

// callerOf returns what agent files know a session of def by. An agent that is
// neither built in nor from a file is the host's own.
func callerOf(def *agentdefs.Definition) string {
	if def.File == "" && !def.BuiltIn {
		return agentdefs.Host
	}
	name := strings.ToLower(def.Name)
	if name == agentdefs.Host {
		return "" // an agent of that name is not the host
	}
	return name
}

func mayCall(caller string, def *agentdefs.Definition) bool {
	return def.Callers == nil || caller != "" && slices.Contains(def.Callers, caller)
}

// rosters returns those of the snapshot in force.
func (s *Service) rosters() *rosters {
	snapshot := s.agents.Snapshot()
	if r := s.made.Load(); r != nil && r.snapshot == snapshot {
		return r
	}
	r := newRosters(snapshot)
	s.made.Store(r)
	return r
}

// find returns the agent that a caller means by a name, in any case, or an
// alias. An error lists those that the caller may name.
func (s *Service) find(caller, name string) (*agentdefs.Definition, error) {
	r := s.rosters()
	def, candidates := r.resolve(name)
	if def != nil && mayCall(caller, def) {
		return def, nil
	}
	unknown := &UnknownAgentError{Name: name, Candidates: candidates}
	if def != nil {
		unknown.Name, unknown.Callers = def.Name, def.Callers
	}
	if def == nil && len(candidates) == 0 {
		unknown.Unserved = r.unserved(name)
	}
	for _, a := range r.of(caller).agents {
		accepted := a.Name
		if len(a.Aliases) > 0 {
			accepted += " (" + strings.Join(a.Aliases, ", ") + ")"
		}
		unknown.Accepted = append(unknown.Accepted, accepted)
	}
	return nil, unknown
}

// Find returns the agent that a host means by a name, in any case, or an alias.
// The error is an [*UnknownAgentError].
func (s *Service) Find(name string) (*agentdefs.Definition, error) {
	return s.find(agentdefs.Host, name)
}

// nameOf returns the name of the agent that name stands for; name itself where
// there is none.
func (s *Service) nameOf(name string) string {
	if def, _ := s.rosters().resolve(name); def != nil {
		return def.Name
	}
	return name
}

// resolve returns what [agentdefs.Snapshot.Resolve] does, if task may call it.
func (r *rosters) resolve(name string) (def *agentdefs.Definition, candidates []string) {
	def, candidates = r.snapshot.Resolve(name)
	if def != nil && def.Mode == agentdefs.Primary {
		def = nil
	}
	return def, candidates
}

// unserved returns the file that has an agent of that name, in any case, which
// is not served; nil: there is none, or another has the name.
func (r *rosters) unserved(name string) *agentdefs.Unserved {
	if def, _ := r.snapshot.Resolve(name); def != nil {
		return nil
	}
	for _, u := range r.snapshot.Unserved() {
		if u.File != "built-in" && strings.EqualFold(u.Name, name) {
			return &u
		}
	}
	return nil
}

// UnknownAgentError tells that an agentType names no agent that its caller may
// call.
type UnknownAgentError struct {
	Name       string
	Callers    []string // those that may call the agent of that name; nil: there is none
	Candidates []string // names that differ from Name in upper and lower case alone, if there are several
	Accepted   []string // names, their aliases in brackets

	// Unserved is the file that has an agent of that name and is not served;
	// nil: there is none.
	Unserved *agentdefs.Unserved
}

func (e *UnknownAgentError) Error() string {
	what := fmt.Sprintf("unknown agentType %q", e.Name)
	switch {
	case len(e.Candidates) > 0:
		what = fmt.Sprintf("the agentType %q could be any of %s: write it in the same case", e.Name, strings.Join(e.Candidates, ", "))
	case e.Unserved != nil:
		what = fmt.Sprintf("the agent %q of %s is not served (%s)", e.Unserved.Name, e.Unserved.File, e.Unserved.Code)
	case e.Callers != nil:
		what = fmt.Sprintf("the agent %q may be called by %s only", e.Name, strings.Join(e.Callers, ", "))
	}
	if len(e.Accepted) == 0 {
		return what + "; no agent is accepted here"
	}
	return what + "; accepted: " + strings.Join(e.Accepted, ", ")
}

// ReadOnly reports whether no agent that a host can call now, hidden ones among
// them, can change anything: whether its own rules deny it every tool that
// could. What the workspace's rules say is not part of it: they may be changed
// at any time.
func (s *Service) ReadOnly() bool {
	for _, a := range s.rosters().agents {
		if !mayCall(agentdefs.Host, a) {
			continue
		}
		for _, t := range s.tools {
			if spec := t.Spec(); !spec.ReadOnly && !a.Permission.DeniesAll(spec.Name) {
				return false
			}
		}
	}
	return true
}
