package agentdefs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merge puts the definitions of several folders together.
type merge struct {
	byName      map[string]served
	diagnostics []Diagnostic
	unserved    []Unserved
	withheld    map[string]bool // names that a file takes without serving them
	before      *Snapshot       // the snapshot before, whose copies are used again; nil: none
}

func newMerge(builtin []served, before *Snapshot) *merge {
	m := &merge{before: before, withheld: map[string]bool{}}
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
	for _, r := range records {
		if r != nil && r.force.name == "" && r.claims != "" {
			m.displace(r.force.file, r.claims)
		}
	}
	first := make(map[string]string, len(records)) // the file that has a name
	for _, r := range records {
		if r == nil {
			continue
		}
		f := &r.force
		from := len(m.diagnostics)
		m.diagnostics = append(m.diagnostics, f.diagnostics...)
		if f.name == "" {
			if f.says(codeDescriptionMissing) {
				m.withhold(f, fileName(f.file), codeDescriptionMissing)
			}
		} else if other, taken := first[f.name]; taken {
			m.report(f, codeNameDuplicate, "give one of them another name", "%s has the name %q too, and comes first", other, f.name)
			m.withhold(f, f.name, codeNameDuplicate)
		} else {
			first[f.name] = f.file
			m.place(f)
		}
		sortDiagnostics(m.diagnostics[from:])
	}
}

// seal takes away all that has been merged, because of a folder that comes next
// and can't be read in full: it may restrict any of them.
func (m *merge) seal(shown string) {
	for _, name := range slices.Sorted(maps.Keys(m.byName)) {
		m.unserved = append(m.unserved, Unserved{name, shownFile(m.byName[name].def), codeFileUnreadable, shown + " cannot be read in full, and may restrict it"})
		m.withheld[name] = true
	}
	clear(m.byName)
}

// place gives f its name.
func (m *merge) place(f *parsed) {
	old, replaces := m.byName[f.name]
	if f.def == nil {
		// Switched off or refused: what the author meant to replace does not
		// come back with permissions they did not write.
		code := ""
		if f.empty {
			code = codeFrontmatterMissing
		}
		m.withhold(f, f.name, code)
		if replaces && f.disabled {
			m.unserved = append(m.unserved, Unserved{f.name, shownFile(old.def), codeAgentShadows, "switched off by " + f.file})
		} else {
			m.displace(f.file, f.name)
		}
		delete(m.byName, f.name)
		m.withheld[f.name] = true
		return
	}
	now := served{def: f.def, base: f.def, digest: f.digest, line: f.line, column: f.column}
	if replaces {
		now.def = m.shadowing(f, old.def)
		code := codeAgentShadows
		if old.def.BuiltIn {
			code = codeAgentShadowsBuiltin
		}
		m.report(f, code, "give it another name to have both", "%q replaces %s of the same name", f.name, shownFile(old.def))
		m.unserved = append(m.unserved, Unserved{f.name, shownFile(old.def), code, "replaced by " + f.file})
	}
	m.byName[f.name] = now
	delete(m.withheld, f.name)
}

// displace takes away the agent of that name, if there is one, because of a file
// that is not served and replaces it all the same.
func (m *merge) displace(file, name string) {
	old, ok := m.byName[name]
	if !ok {
		return
	}
	m.diagnostics = append(m.diagnostics, finding(file, codeAgentShadows, "correct the file, or remove it to get the other one back",
		fmt.Sprintf("%s of the name %q is not served either", shownFile(old.def), name)))
	m.unserved = append(m.unserved, Unserved{name, shownFile(old.def), codeAgentShadows, "not served because of " + file})
	delete(m.byName, name)
	m.withheld[name] = true
}

// shadowing is f's definition with the mark of what it replaced.
func (m *merge) shadowing(f *parsed, old *Definition) *Definition {
	if m.before != nil {
		if s, ok := m.before.byName[f.name]; ok && s.base == f.def && s.def.Shadows == shownFile(old) {
			return s.def
		}
	}
	d := *f.def
	d.Shadows = shownFile(old)
	return &d
}

// report adds a diagnostic about f's name.
func (m *merge) report(f *parsed, code, fix, format string, args ...any) {
	m.diagnostics = append(m.diagnostics, Diagnostic{
		File: f.file, Line: f.line, Column: f.column, Severity: severities[code], Code: code, Message: fmt.Sprintf(format, args...), Fix: fix,
	})
}

// withhold notes that f is not served. The reason is its diagnostic of that
// code; an empty one stands for its first error or, if there is none, for its
// being switched off.
func (m *merge) withhold(f *parsed, name, code string) {
	u := Unserved{Name: name, File: f.file, Code: code}
	for _, d := range slices.Backward(m.diagnostics) {
		if d.File != f.file {
			break
		}
		if d.Code == code || code == "" && (d.Severity == Error || u.Code == "" && d.Code == codeAgentDisabled) {
			u.Code, u.Reason = d.Code, d.Message
		}
	}
	m.unserved = append(m.unserved, u)
}

func shownFile(d *Definition) string {
	if d.BuiltIn {
		return "built-in"
	}
	return d.File
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
		m.report(&parsed{file: of.def.File, line: of.line, column: of.column}, c.code, c.fix, "%s", c.message)
	}
	sortDiagnostics(m.diagnostics)
	s.diagnostics = m.diagnostics
	return s
}
