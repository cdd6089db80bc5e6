package taskt

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
)

// offers holds what each caller is offered of one snapshot.
type offers struct {
	snapshot *agentdefs.Snapshot
	agents   []*agentdefs.Definition // the agents that task may call
	named    map[string]bool         // the callers that some agent names

	mu       sync.Mutex
	byCaller map[caller]*offer
	plans    map[planKey]*plan

	forHosts func() tool.Spec // of the task tool
}

// offer is what a caller is offered. It is immutable.
type offer struct {
	agents []*agentdefs.Definition // by name, without hidden ones
	spec   tool.Spec               // of the task tool, for models
}

func newOffers(snapshot *agentdefs.Snapshot) *offers {
	r := &offers{
		snapshot: snapshot,
		agents:   snapshot.Subagents(),
		named:    make(map[string]bool),
		byCaller: make(map[caller]*offer),
		plans:    make(map[planKey]*plan),
	}
	r.forHosts = sync.OnceValue(func() tool.Spec { return newSpec(r.of(host).agents, presented) })
	for _, d := range r.agents {
		for _, caller := range d.Callers {
			r.named[caller] = true
		}
	}
	return r
}

// of returns what a caller is offered, made once. Callers that no agent names, and
// that may call all of them, share one offer.
func (r *offers) of(by caller) *offer {
	if !r.named[by.name] {
		by.name = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if made := r.byCaller[by]; made != nil {
		return made
	}
	made := new(offer)
	for _, d := range r.agents {
		if !d.Hidden && by.mayCall(d) {
			made.agents = append(made.agents, d)
		}
	}
	made.spec = newSpec(made.agents, toModels)
	r.byCaller[by] = made
	return made
}

// caller is who calls agents.
type caller struct {
	name string                // as [agentdefs.Definition.Callers] has it; empty means an agent that none names
	only *agentdefs.Definition // the caller, where its file says which agents it may call; nil means all
}

// host is the caller that is no agent.
var host = caller{name: agentdefs.Host}

// callerOf returns a session of def as a caller. An agent that is neither built in
// nor from a file is the host's own.
func callerOf(def *agentdefs.Definition) caller {
	if def.File == "" && !def.BuiltIn {
		return host
	}
	by := caller{name: strings.ToLower(def.Name)}
	if by.name == agentdefs.Host {
		by.name = "" // an agent of that name is not the host
	}
	if def.AllowAgents != nil {
		by.only = def
	}
	return by
}

// mayCall reports whether the file of an agent lets the caller call it, and that of
// the caller too.
func (by caller) mayCall(def *agentdefs.Definition) bool { return by.accepted(def) && by.allowed(def) }

func (by caller) accepted(def *agentdefs.Definition) bool {
	return def.Callers == nil || by.name != "" && slices.Contains(def.Callers, by.name)
}

func (by caller) allowed(def *agentdefs.Definition) bool {
	return by.only == nil || slices.Contains(by.only.AllowAgents, strings.ToLower(def.Name))
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

// target returns the agent that a caller means by a name, in any case, or an
// alias. The error lists the names that the caller may use.
func (r *offers) target(by caller, name string) target {
	def, candidates := r.resolve(name)
	t := target{offers: r, agent: name}
	if def != nil {
		t.agent = def.Name
	}
	if def != nil && by.mayCall(def) {
		t.def = def
	} else {
		t.err = r.unknown(by, name, def, candidates)
	}
	return t
}

// unknown returns the error for a name that means no agent, or one that the
// caller may not call.
func (r *offers) unknown(by caller, name string, def *agentdefs.Definition, candidates []string) *UnknownAgentError {
	unknown := &UnknownAgentError{Name: termtext.CutBytes(name, maxShownName), Candidates: candidates}
	if def != nil {
		unknown.Name = def.Name
		if unknown.Callers = def.Callers; by.accepted(def) {
			unknown.Callers, unknown.NotAllowed = nil, true
		}
	}
	if def == nil && len(candidates) == 0 {
		unknown.Unserved = r.unserved(name)
	}
	for _, a := range r.of(by).agents {
		accepted := a.Name
		if len(a.Aliases) > 0 {
			accepted += " (" + strings.Join(a.Aliases, ", ") + ")"
		}
		unknown.Accepted = append(unknown.Accepted, accepted)
	}
	if len(unknown.Accepted) == 0 {
		unknown.Withheld = r.snapshot.Unserved()
	}
	return unknown
}

// Find returns the agent that a host means by a name, in any case, or an alias.
// The error is an [*UnknownAgentError].
func (s *Service) Find(name string) (*agentdefs.Definition, error) {
	t := s.offers().target(host, name)
	return t.def, t.err
}

// resolve returns what [agentdefs.Snapshot.Resolve] does, if task may call it.
func (r *offers) resolve(name string) (def *agentdefs.Definition, candidates []string) {
	def, candidates = r.snapshot.Resolve(name)
	if def != nil && def.Mode == agentdefs.Primary {
		def = nil
	}
	return def, candidates
}

// unserved returns the agent of that name, in any case, that is not served, a
// file's before a built-in one; nil means there is none, or a served agent has the
// name.
func (r *offers) unserved(name string) *agentdefs.Unserved {
	if def, _ := r.snapshot.Resolve(name); def != nil {
		return nil
	}
	var builtIn *agentdefs.Unserved
	for _, u := range r.snapshot.Unserved() {
		switch {
		case !strings.EqualFold(u.Name, name):
		case u.File != builtInFile:
			return &u
		default:
			builtIn = &u
		}
	}
	return builtIn
}

// builtInFile is what a built-in agent has in place of a file.
const builtInFile = "built-in"

// sayUnserved says which agent is not served, and why.
func sayUnserved(u agentdefs.Unserved) string {
	if u.File == builtInFile {
		return fmt.Sprintf("the built-in agent %q is not served: %s (%s)", u.Name, u.Reason, u.Code)
	}
	return fmt.Sprintf("the agent %q of %s is not served (%s)", u.Name, u.File, u.Code)
}

// maxShownName bounds what is shown of a name that a caller gives, in bytes:
// what it could have named is to be read behind it.
const maxShownName = 100

// UnknownAgentError is the error of an agentType that names no agent which its
// caller may call.
type UnknownAgentError struct {
	Name       string
	Callers    []string // the callers of the agent of that name, if they do not have this one
	NotAllowed bool     // the caller's file does not have the agent among those that it may call
	Candidates []string // names that differ from Name in upper and lower case alone, if there are several
	Accepted   []string // names, their aliases in brackets

	// Unserved is the agent of that name that is not served; nil means there is none.
	Unserved *agentdefs.Unserved

	// Withheld are all agents that are not served, where none is accepted.
	Withheld []agentdefs.Unserved
}

func (e *UnknownAgentError) Error() string {
	what := fmt.Sprintf("unknown agentType %q", e.Name)
	switch {
	case len(e.Candidates) > 0:
		what = fmt.Sprintf("the agentType %q could be any of %s: write it in the same case", e.Name, strings.Join(e.Candidates, ", "))
	case e.Unserved != nil:
		what = sayUnserved(*e.Unserved)
	case e.Callers != nil:
		what = fmt.Sprintf("the agent %q may be called by %s only", e.Name, strings.Join(e.Callers, ", "))
	case e.NotAllowed:
		what = fmt.Sprintf("you may not call the agent %q (allowAgents of your agent file)", e.Name)
	}
	switch {
	case len(e.Accepted) > 0:
		return what + "; accepted: " + strings.Join(e.Accepted, ", ")
	case e.Unserved != nil || len(e.Withheld) == 0:
		return what + "; no agent is accepted here"
	}
	why := sayUnserved(e.Withheld[0])
	if more := len(e.Withheld) - 1; more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return what + "; no agent is accepted here: " + why
}

// ReadOnly reports whether no agent that a host can call now, hidden or not, can
// change anything: its own rules deny every tool that could. The workspace's
// rules don't count: they may change at any time.
func (s *Service) ReadOnly() bool {
	for _, a := range s.offers().agents {
		if host.mayCall(a) && !s.readOnly(a) {
			return false
		}
	}
	return true
}

// ReadOnlyAgents returns the names of the agents that hosts are offered and that can't
// change anything, as [Service.ReadOnly] has it.
func (s *Service) ReadOnlyAgents() []string {
	var names []string
	for _, a := range s.offers().of(host).agents {
		if s.readOnly(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// readOnly reports whether an agent's own rules deny every tool that changes something.
func (s *Service) readOnly(a *agentdefs.Definition) bool {
	if a.PlanExit != "" { // it may become one that can
		return false
	}
	for _, t := range s.tools {
		if spec := t.Spec(); !spec.ReadOnly && !a.Permission.DeniesAll(spec.Name) {
			return false
		}
	}
	return true
}
