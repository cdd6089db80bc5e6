package agentdefs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// Snapshot is a set of definitions with the diagnostics of its files. It is
// immutable and safe for concurrent use: a reader that took one keeps it whole
// while the next one is made.
type Snapshot struct {
	// Version counts the snapshots of one Registry, from 1. A new one differs
	// from the one before in something that a reader can see.
	Version uint64

	agents      []*Definition // by name
	byName      map[string]served
	called      *directory
	diagnostics []Diagnostic
	unserved    []Unserved
	unread      []Unread
	dir         string
}

// Unserved is an agent that a file, or the worker, has and that is not served
// from there.
type Unserved struct {
	Name   string `json:"name"`   // the file's, where the agent's is not known
	File   string `json:"file"`   // as shown to people, or "built-in"
	Code   string `json:"code"`   // of the diagnostic that says more
	Reason string `json:"reason"` // in a few words
}

// Agents returns every definition in the order of their names.
func (s *Snapshot) Agents() []*Definition { return slices.Clone(s.agents) }

// Subagents returns the definitions that the task tool offers, those of mode
// [Subagent] or [All], in the order of their names.
func (s *Snapshot) Subagents() []*Definition {
	var out []*Definition
	for _, d := range s.agents {
		if offered(d) {
			out = append(out, d)
		}
	}
	return out
}

// Agent returns the definition of that exact name.
func (s *Snapshot) Agent(name string) (*Definition, bool) {
	found, ok := s.byName[name]
	return found.def, ok
}

// Diagnostics returns what was found about folders and files, by file and line.
func (s *Snapshot) Diagnostics() []Diagnostic { return slices.Clone(s.diagnostics) }

// Shadowed says which folders of the workspace are not read because of another, and why.
func (s *Snapshot) Shadowed() (folders []string) {
	for _, d := range s.diagnostics {
		if d.Code == diag.DirectoryShadowed {
			folders = append(folders, d.File+": "+d.Message)
		}
	}
	return folders
}

// Unserved returns the agents that are not served, in the order of folders and
// files: refused, without description, switched off, of a name that another
// file has, or replaced. Files that are not agent files are left out.
func (s *Snapshot) Unserved() []Unserved { return slices.Clone(s.unserved) }

// Dir is the workspace folder that is served, relative to the root and
// slash-separated, for example ".agents/agents"; empty if there is none.
func (s *Snapshot) Dir() string { return s.dir }

// Fingerprint returns the SHA-256, in hex, of what the definitions are. Two
// workers with equal files have the same, also in different folders.
func (s *Snapshot) Fingerprint() string {
	h := sha256.New()
	for _, d := range s.agents {
		fmt.Fprintf(h, "%q %x\n", d.Name, s.byName[d.Name].digest())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Resolve returns the agent that a call means by name. That is the agent with
// exactly this name; else the only one whose name differs only in case; else
// the one with that alias, in any case, if the task tool offers it; else the only one that a plugin
// has by that name. It returns
// nil if there is none, or if a file of that name is refused or switched off.
// If several agents match, candidates has their names.
func (s *Snapshot) Resolve(name string) (d *Definition, candidates []string) {
	if exact, ok := s.byName[name]; ok {
		return exact.def, nil
	}
	key := fold(name)
	if s.called.withheld[key] {
		return nil, nil
	}
	same := s.called.folded[key]
	switch len(same) {
	case 0:
		if d := s.called.aliases[key]; d != nil {
			return d, nil
		}
		same = s.called.ofPlugins[key]
		if len(same) < 2 {
			return first(same), nil
		}
	case 1:
		return same[0], nil
	}
	for _, d := range same {
		candidates = append(candidates, d.Name)
	}
	return nil, candidates
}

// first returns the first of definitions, or nil.
func first(ds []*Definition) *Definition {
	if len(ds) == 0 {
		return nil
	}
	return ds[0]
}

// Unread returns the folders of other tools, of packages and of the user that
// hold agent files and are not read.
func (s *Snapshot) Unread() []Unread { return slices.Clone(s.unread) }

// served is a definition as a snapshot has it.
type served struct {
	def    *Definition
	base   *Definition // def before it was marked as replacing another
	digest func() [sha256.Size]byte

	line, column int // of the name
}

// same reports whether a reader can't tell two definitions apart.
func (s served) same(other served) bool {
	a, b := s.def, other.def
	if a == b {
		return true
	}
	return a.File == b.File && a.Line == b.Line && a.Shadows == b.Shadows && a.Stale == b.Stale && s.digest() == other.digest() &&
		slices.Equal(slices.Collect(a.Permission.Rules()), slices.Collect(b.Permission.Rules())) &&
		slices.EqualFunc(a.Fields, b.Fields, func(x, y definition.OtherField) bool { return x.Line == y.Line && x.Column == y.Column })
}
