// Package offer is which agents a caller of the task tool is offered, and which one it means
// by a name.
package offer

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/tool"
)

// Source makes the offers of the snapshot in force. It is safe for concurrent use.
type Source struct {
	snapshot func() *agentdefs.Snapshot
	current  atomic.Pointer[Set]
}

// NewSource returns a source of offers of the agents of snapshot.
func NewSource(snapshot func() *agentdefs.Snapshot) *Source { return &Source{snapshot: snapshot} }

// Current returns the offers of the snapshot in force. They are made once for each snapshot.
func (s *Source) Current() *Set {
	snapshot := s.snapshot()
	if set := s.current.Load(); set != nil && set.Snapshot == snapshot {
		return set
	}
	set := newSet(snapshot)
	s.current.Store(set)
	return set
}

// Set has the offers of one snapshot, one for each caller.
type Set struct {
	Snapshot *agentdefs.Snapshot
	Agents   []*agentdefs.Definition // the ones that task may call

	named map[string]bool // the callers that some agent names

	mu       sync.Mutex
	byCaller map[Caller]*Offer
}

func newSet(snapshot *agentdefs.Snapshot) *Set {
	s := &Set{Snapshot: snapshot, Agents: snapshot.Subagents(), named: make(map[string]bool), byCaller: make(map[Caller]*Offer)}
	for _, d := range s.Agents {
		for _, caller := range d.Callers {
			s.named[caller] = true
		}
	}
	return s
}

// Of returns what a caller is offered. Callers that no agent names, and that may call all
// agents, share one offer.
func (s *Set) Of(by Caller) *Offer {
	if !s.named[by.name] {
		by.name = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byCaller[by]
	if o == nil {
		o = &Offer{specs: make(map[input.Presentation]tool.Spec)}
		for _, d := range s.Agents {
			if !d.Hidden && by.MayCall(d) {
				o.Agents = append(o.Agents, d)
			}
		}
		s.byCaller[by] = o
	}
	return o
}

// Offer is what a caller is offered of one snapshot.
type Offer struct {
	Agents []*agentdefs.Definition // by name, without hidden ones

	mu    sync.Mutex
	specs map[input.Presentation]tool.Spec
}

// ForModels is how the task tool is shown to the models of sessions.
var ForModels = input.Presentation{SideBySide: true, Forks: true}

// Spec describes the task tool. It is made once for each presentation.
func (o *Offer) Spec(as input.Presentation) tool.Spec {
	o.mu.Lock()
	defer o.mu.Unlock()
	spec, made := o.specs[as]
	if !made {
		spec = input.Spec(o.Agents, as)
		o.specs[as] = spec
	}
	return spec
}

// Caller is who calls agents.
type Caller struct {
	name string                // as [agentdefs.Definition.Callers] has it; empty means an agent that none names
	only *agentdefs.Definition // the caller, where its file says which agents it may call; nil means all
}

// Host is the caller that is no agent.
var Host = Caller{name: agentdefs.Host}

// CallerOf returns a session of def as a caller. An agent that is neither built in nor from a
// file is the host's own.
func CallerOf(def *agentdefs.Definition) Caller {
	if def.File == "" && !def.BuiltIn {
		return Host
	}
	by := Caller{name: strings.ToLower(def.Name)}
	if by.name == agentdefs.Host {
		by.name = "" // an agent of that name is not the host
	}
	if def.AllowAgents != nil {
		by.only = def
	}
	return by
}

// MayCall reports whether the files of both let the caller call an agent.
func (by Caller) MayCall(def *agentdefs.Definition) bool { return by.accepted(def) && by.allowed(def) }

// accepted reports whether the agent's file accepts the caller.
func (by Caller) accepted(def *agentdefs.Definition) bool {
	return def.Callers == nil || by.name != "" && slices.Contains(def.Callers, by.name)
}

// allowed reports whether the caller's file allows the agent.
func (by Caller) allowed(def *agentdefs.Definition) bool {
	return by.only == nil || slices.Contains(by.only.AllowAgents, strings.ToLower(def.Name))
}
