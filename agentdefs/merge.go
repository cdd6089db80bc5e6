package agentdefs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// merge puts the definitions of several folders together.
type merge struct {
	byName      map[string]served
	diagnostics []Diagnostic
	unserved    []Unserved
	withheld    map[string]bool   // names that a file takes without serving them
	from        int               // of diagnostics, the first of the file that is merged
	tool        string            // whose files are merged; empty means nobody else's
	bound       map[string]string // agents that a list of this tool restricts without describing them, and the list
	roles       map[string]bool   // files whose agents are those of a list
	before      *Snapshot         // the snapshot before, whose copies are used again; nil means this is the first
}

func newMerge(builtin []served, before *Snapshot) *merge {
	m := &merge{before: before, withheld: map[string]bool{}, bound: map[string]string{}, roles: map[string]bool{}}
	if before == nil {
		m.byName = map[string]served{}
	} else { // about as large again
		m.byName = make(map[string]served, len(before.byName))
		m.diagnostics = make([]Diagnostic, 0, len(before.diagnostics)+16)
		m.unserved = make([]Unserved, 0, len(before.unserved)+1)
	}
	for _, s := range builtin {
		m.byName[s.def.Name] = s
	}
	return m
}

// add merges the files of one folder, in the order of their paths, which
// replace what is there by the same name.
func (m *merge) add(records []*record) {
	records = m.each(records)
	for _, r := range records {
		if r != nil && r.force.Name == "" && r.claims != "" {
			m.displace(r.force.File, r.claims)
		}
	}
	first := make(map[string]string, len(records)) // the file that has a name
	for _, r := range records {
		if r == nil {
			continue
		}
		f := &r.force
		from := len(m.diagnostics)
		m.from = from
		m.diagnostics = append(m.diagnostics, f.Diagnostics...)
		if f.Name == "" {
			if f.Has(diag.DescriptionMissing) {
				m.withhold(f, dialect.AgentName(f.File), diag.DescriptionMissing)
			}
		} else if other, exists := first[f.Name]; exists {
			m.report(f, diag.NameDuplicate, "give one of them another name", "%s has the name %q too, and comes first", other, f.Name)
			m.withhold(f, f.Name, diag.NameDuplicate)
		} else {
			first[f.Name] = f.File
			m.assign(f)
		}
		diag.Sort(m.diagnostics[from:])
	}
}

// seal takes away all that has been merged, because of a folder that comes next
// and can't be read in full: it may restrict any of them.
func (m *merge) seal(shown string) {
	for _, name := range slices.Sorted(maps.Keys(m.byName)) {
		m.unserved = append(m.unserved, Unserved{name, shownFile(m.byName[name].def), diag.FileUnreadable, shown + " cannot be read in full, and may restrict it"})
		m.withheld[name] = true
	}
	clear(m.byName)
}

// assign gives f its name.
func (m *merge) assign(f *definition.Parsed) {
	m.bind(f)
	f = m.unbound(f)
	old, replaces := m.byName[f.Name]
	if f.Def == nil {
		// Switched off or refused: what the author meant to replace does not
		// come back with permissions they did not write.
		code := ""
		if f.Empty {
			code = diag.FrontmatterMissing
		}
		m.withhold(f, f.Name, code)
		if replaces && f.Disabled {
			m.unserved = append(m.unserved, Unserved{f.Name, shownFile(old.def), diag.AgentShadows, "switched off by " + f.File})
		} else {
			m.displace(f.File, f.Name)
		}
		delete(m.byName, f.Name)
		m.withheld[f.Name] = true
		return
	}
	now := served{def: f.Def, base: f.Def, digest: f.Digest, line: f.Line, column: f.Column}
	if replaces {
		now.def = m.shadowing(f, old.def)
		code := diag.AgentShadows
		if old.def.BuiltIn {
			code = diag.AgentShadowsBuiltin
		}
		m.report(f, code, "give it another name to have both", "%q replaces %s of the same name", f.Name, shownFile(old.def))
		m.unserved = append(m.unserved, Unserved{f.Name, shownFile(old.def), code, "replaced by " + f.File})
	}
	m.byName[f.Name] = now
	delete(m.withheld, f.Name)
}

// displace takes away the agent of that name, if there is one, because of a file
// that is not served and replaces it all the same.
func (m *merge) displace(file, name string) {
	old, ok := m.byName[name]
	if !ok {
		return
	}
	m.diagnostics = append(m.diagnostics, diag.OfFile(file, diag.AgentShadows, "correct the file, or remove it to get the other one back",
		fmt.Sprintf("%s of the name %q is not served either", shownFile(old.def), name)))
	m.unserved = append(m.unserved, Unserved{name, shownFile(old.def), diag.AgentShadows, "not served because of " + file})
	delete(m.byName, name)
	m.withheld[name] = true
}

// shadowing is f's definition with the mark of what it replaced.
func (m *merge) shadowing(f *definition.Parsed, old *Definition) *Definition {
	if m.before != nil {
		if s, ok := m.before.byName[f.Name]; ok && s.base == f.Def && s.def.Shadows == shownFile(old) {
			return s.def
		}
	}
	d := *f.Def
	d.Shadows = shownFile(old)
	return &d
}

// report adds a diagnostic about f's name.
func (m *merge) report(f *definition.Parsed, code, fix, format string, args ...any) {
	m.diagnostics = append(m.diagnostics, diag.At(f.File, f.Line, f.Column, code, fix, fmt.Sprintf(format, args...)))
}

// withhold notes that f is not served. The reason is its diagnostic of that
// code. With an empty code it is the first error or, without one, that the file
// is switched off.
func (m *merge) withhold(f *definition.Parsed, name, code string) {
	u := Unserved{Name: name, File: f.File, Code: code}
	for _, d := range slices.Backward(m.diagnostics[m.from:]) {
		if d.File != f.File {
			break
		}
		if d.Code == code || code == "" && (d.Severity == Error || u.Code == "" && d.Code == diag.AgentDisabled) {
			u.Code, u.Reason = d.Code, d.Message
		}
	}
	m.unserved = append(m.unserved, u)
}

func (m *merge) snapshot(dir string) *Snapshot {
	s := &Snapshot{Version: 1, byName: m.byName, unserved: m.unserved, dir: dir, agents: make([]*Definition, 0, len(m.byName))}
	for _, at := range m.byName {
		s.agents = append(s.agents, at.def)
	}
	slices.SortFunc(s.agents, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	s.called = newDirectory(s.agents, slices.Collect(maps.Keys(m.withheld)))
	for _, c := range s.called.conflicts {
		of := m.byName[c.name]
		m.report(&definition.Parsed{File: of.def.File, Line: of.line, Column: of.column}, c.code, c.fix, "%s", c.message)
	}
	diag.Sort(m.diagnostics)
	s.diagnostics = m.diagnostics
	return s
}
