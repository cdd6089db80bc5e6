package offer

import (
	"fmt"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
)

// Target is what the name in a call means in one snapshot.
type Target struct {
	Set   *Set
	Agent string                // the name of the agent; that in the call if there is none
	Def   *agentdefs.Definition // nil means Err says why the caller can't call it
	Err   error                 // an [*UnknownAgentError]
}

// Target returns the agent that a caller means by a name, in any case, or an alias. The error
// lists the names that the caller may use.
func (s *Set) Target(by Caller, name string) Target {
	def, candidates := s.Snapshot.Resolve(name)
	if def != nil && def.Mode == agentdefs.Primary {
		def = nil
	}
	t := Target{Set: s, Agent: name}
	if def != nil {
		t.Agent = def.Name
	}
	if def != nil && by.MayCall(def) {
		t.Def = def
	} else {
		t.Err = s.unknown(by, name, def, candidates)
	}
	return t
}

// maxShownName bounds what is shown of the name in a call, in bytes.
const maxShownName = 100

// unknown returns the error for a name that means no agent, or one that the caller may not
// call.
func (s *Set) unknown(by Caller, name string, def *agentdefs.Definition, candidates []string) *UnknownAgentError {
	unknown := &UnknownAgentError{Name: termtext.CutBytes(name, maxShownName), Candidates: candidates}
	if def != nil {
		unknown.Name = def.Name
		if unknown.Callers = def.Callers; by.accepted(def) {
			unknown.Callers, unknown.NotAllowed = nil, true
		}
	}
	if def == nil && len(candidates) == 0 {
		unknown.Unserved = s.unserved(name)
		unknown.Unread = s.Snapshot.Shadowed()
	}
	for _, a := range s.Of(by).Agents {
		accepted := a.Name
		if len(a.Aliases) > 0 {
			accepted += " (" + strings.Join(a.Aliases, ", ") + ")"
		}
		unknown.Accepted = append(unknown.Accepted, accepted)
	}
	if len(unknown.Accepted) == 0 {
		unknown.Withheld = s.Snapshot.Unserved()
	}
	return unknown
}

// unserved returns the agent of that name, in any case, that is not served. One of a file comes
// before a built-in one. nil means there is none, or a served agent has the name.
func (s *Set) unserved(name string) *agentdefs.Unserved {
	if def, _ := s.Snapshot.Resolve(name); def != nil {
		return nil
	}
	var builtIn *agentdefs.Unserved
	for _, u := range s.Snapshot.Unserved() {
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

// builtInFile is the File of an unserved built-in agent.
const builtInFile = "built-in"

// UnknownAgentError is the error of an agentType that names no agent which its caller may
// call.
type UnknownAgentError struct {
	Name       string
	Callers    []string // the callers of the agent of that name, if this one is not among them
	NotAllowed bool     // the caller's file does not allow the agent
	Candidates []string // the names that differ from Name only in case, if there are several
	Accepted   []string // names, their aliases in brackets

	// Unserved is the agent of that name that is not served; nil means there is none.
	Unserved *agentdefs.Unserved

	// Unread are the folders with agent files that are not read, each with the reason.
	Unread []string

	// Withheld are all agents that are not served, where none is accepted.
	Withheld []agentdefs.Unserved
}

func (e *UnknownAgentError) Error() string {
	what := fmt.Sprintf("unknown agentType %q", e.Name)
	switch {
	case len(e.Candidates) > 0:
		what = fmt.Sprintf("the agentType %q could be any of %s: write it in the same case", e.Name, strings.Join(e.Candidates, ", "))
	case e.Unserved != nil:
		what = describeUnserved(*e.Unserved)
	case e.Callers != nil:
		what = fmt.Sprintf("the agent %q may be called by %s only", e.Name, strings.Join(e.Callers, ", "))
	case e.NotAllowed:
		what = fmt.Sprintf("you may not call the agent %q (allowAgents of your agent file)", e.Name)
	}
	if len(e.Unread) > 0 {
		what += " (" + strings.Join(e.Unread, "; ") + ")"
	}
	switch {
	case len(e.Accepted) > 0:
		return what + "; accepted: " + strings.Join(e.Accepted, ", ")
	case e.Unserved != nil || len(e.Withheld) == 0:
		return what + "; no agent is accepted here"
	}
	why := describeUnserved(e.Withheld[0])
	if more := len(e.Withheld) - 1; more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return what + "; no agent is accepted here: " + why
}

// describeUnserved says which agent is not served, and why.
func describeUnserved(u agentdefs.Unserved) string {
	if u.File == builtInFile {
		return fmt.Sprintf("the built-in agent %q is not served: %s (%s)", u.Name, u.Reason, u.Code)
	}
	return fmt.Sprintf("the agent %q of %s is not served (%s)", u.Name, u.File, u.Code)
}
