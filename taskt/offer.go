package taskt

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/tool"
)

// offers holds what each caller is offered of one snapshot.
type offers struct {
	snapshot *agentdefs.Snapshot
	agents   []*agentdefs.Definition // the agents that task may call
	named    map[string]bool         // the callers that some agent names

	mu       sync.Mutex
	byCaller map[string]*offer
}

// offer is what a caller is offered. It is immutable.
type offer struct {
	agents []*agentdefs.Definition // by name, without hidden ones
	spec   tool.Spec               // of the task tool
}

func newOffers(snapshot *agentdefs.Snapshot) *offers {
	r := &offers{
		snapshot: snapshot,
		agents:   snapshot.Subagents(),
		named:    make(map[string]bool),
		byCaller: make(map[string]*offer),
	}
	for _, d := range r.agents {
		for _, caller := range d.Callers {
			r.named[caller] = true
		}
	}
	return r
}

// of returns what a caller is offered, made once. Callers that no agent names
// share one offer.
func (r *offers) of(caller string) *offer {
	if !r.named[caller] {
		caller = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if made := r.byCaller[caller]; made != nil {
		return made
	}
	made := new(offer)
	for _, d := range r.agents {
		if !d.Hidden && mayCall(caller, d) {
			made.agents = append(made.agents, d)
		}
	}
	made.spec = newSpec(made.agents, presented)
	r.byCaller[caller] = made
	return made
}

// callerOf returns the name by which agent files mean a session of def. An agent
// that is neither built in nor from a file is the host's own.
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

// offers returns the offers of the current snapshot.
func (s *Service) offers() *offers {
	snapshot := s.agents.Snapshot()
	if r := s.made.Load(); r != nil && r.snapshot == snapshot {
		return r
	}
	r := newOffers(snapshot)
	s.made.Store(r)
	return r
}

// find returns the agent that a caller means by a name, in any case, or an
// alias. The error lists the names that the caller may use.
func (s *Service) find(caller, name string) (*agentdefs.Definition, error) {
	r := s.offers()
	def, candidates := r.resolve(name)
	if def != nil && mayCall(caller, def) {
		return def, nil
	}
	unknown := &UnknownAgentError{Name: shortName(name), Candidates: candidates}
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

// nameOf returns the name of the agent that name stands for; name itself if none
// does.
func (s *Service) nameOf(name string) string {
	if def, _ := s.offers().resolve(name); def != nil {
		return def.Name
	}
	return name
}

// resolve returns what [agentdefs.Snapshot.Resolve] does, if task may call it.
func (r *offers) resolve(name string) (def *agentdefs.Definition, candidates []string) {
	def, candidates = r.snapshot.Resolve(name)
	if def != nil && def.Mode == agentdefs.Primary {
		def = nil
	}
	return def, candidates
}

// unserved returns the file of an agent of that name, in any case, that is not
// served; nil: there is none, or a served agent has the name.
func (r *offers) unserved(name string) *agentdefs.Unserved {
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

// maxShownName bounds what is shown of a name that a caller gives, in bytes:
// what it could have named is to be read behind it.
const maxShownName = 100

func shortName(name string) string {
	if len(name) <= maxShownName {
		return name
	}
	return strings.ToValidUTF8(name[:maxShownName], "") + "…"
}

// UnknownAgentError is the error of an agentType that names no agent which its
// caller may call.
type UnknownAgentError struct {
	Name       string
	Callers    []string // the callers of the agent of that name; nil: no such agent
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

// ReadOnly reports whether no agent that a host can call now, hidden or not, can
// change anything: its own rules deny every tool that could. The workspace's
// rules don't count: they may change at any time.
func (s *Service) ReadOnly() bool {
	for _, a := range s.offers().agents {
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
