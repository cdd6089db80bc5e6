package agentdefs

import (
	"cmp"
	"slices"
)

// Snapshot is a set of definitions with the diagnostics of its files. It is
// immutable and safe for concurrent use: a reader that took one keeps it whole
// while the next one is made.
type Snapshot struct {
	// Version counts the snapshots of one Registry, from 1.
	Version uint64

	agents      []*Definition // by name
	byName      map[string]*Definition
	diagnostics []Diagnostic
	dir         string
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
	d, ok := s.byName[name]
	return d, ok
}

// Diagnostics returns what was found about folders and files, by file and line.
func (s *Snapshot) Diagnostics() []Diagnostic { return slices.Clone(s.diagnostics) }

// Dir is the workspace folder that is served, relative to the root and
// slash-separated, for example ".agents/agents"; empty if there is none.
func (s *Snapshot) Dir() string { return s.dir }

func sortDiagnostics(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
