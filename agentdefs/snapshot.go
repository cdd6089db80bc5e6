package agentdefs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
		if d.callable() {
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

// Unserved returns the agents that are not served, in the order of folders and
// files: refused, without description, switched off, of a name that another
// file has, or replaced. What is no agent file at all is not among them.
func (s *Snapshot) Unserved() []Unserved { return slices.Clone(s.unserved) }

// Dir is the workspace folder that is served, relative to the root and
// slash-separated, for example ".agents/agents"; empty if there is none.
func (s *Snapshot) Dir() string { return s.dir }

// Fingerprint returns the SHA-256, in hex, of what the definitions are. Two
// workers whose files are equal have the same, wherever the files are.
func (s *Snapshot) Fingerprint() string {
	h := sha256.New()
	for _, d := range s.agents {
		fmt.Fprintf(h, "%q %x\n", d.Name, s.byName[d.Name].digest())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// same reports whether a reader can't tell two snapshots apart, but for their
// versions; the change from s to next is then empty.
func (s *Snapshot) same(next *Snapshot, c *Change) bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 && s.dir == next.dir &&
		slices.Equal(s.diagnostics, next.diagnostics) && slices.Equal(s.unserved, next.unserved)
}

func sortDiagnostics(ds []Diagnostic) {
	byPlace := func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}
	if !slices.IsSortedFunc(ds, byPlace) { // they mostly are
		slices.SortStableFunc(ds, byPlace)
	}
}
