package agentdefs

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// merge puts the definitions of several folders together.
type merge struct {
	byName      map[string]*Definition
	diagnostics []Diagnostic
}

func newMerge(builtin []*Definition) *merge {
	m := &merge{byName: map[string]*Definition{}}
	for _, d := range builtin {
		m.byName[d.Name] = d
	}
	return m
}

// folder adds the files of f, which replace what is there by the same name.
func (m *merge) folder(ctx context.Context, f folder, opts *Options) {
	files, diagnostics := f.list()
	m.diagnostics = append(m.diagnostics, diagnostics...)
	m.add(readAll(ctx, files, opts))
}

// add merges the files of one folder, in the order of their paths.
func (m *merge) add(files []parsed) {
	first := map[string]string{} // the file that has a name
	for _, f := range files {
		m.diagnostics = append(m.diagnostics, f.diagnostics...)
		if f.name == "" {
			continue
		}
		if other, taken := first[f.name]; taken {
			m.diagnostics = append(m.diagnostics, Diagnostic{
				File: f.file, Line: f.line, Column: f.column, Severity: severities[codeNameDuplicate], Code: codeNameDuplicate,
				Message: fmt.Sprintf("%s has the name %q too, and comes first", other, f.name), Fix: "give one of them another name",
			})
			continue
		}
		first[f.name] = f.file
		old := m.byName[f.name]
		if f.def == nil {
			// Switched off or refused: what the author meant to replace does
			// not come back with permissions they did not write.
			delete(m.byName, f.name)
			if old != nil && !f.disabled {
				m.diagnostics = append(m.diagnostics, finding(f.file, codeAgentShadows, "correct the file, or remove it to get the other one back",
					fmt.Sprintf("%s of the name %q is not served either", shownFile(old), f.name)))
			}
			continue
		}
		def := f.def
		if old != nil {
			def = shadowing(def, old)
			code := codeAgentShadows
			if old.BuiltIn {
				code = codeAgentShadowsBuiltin
			}
			m.diagnostics = append(m.diagnostics, Diagnostic{
				File: f.file, Line: f.line, Column: f.column, Severity: severities[code], Code: code,
				Message: fmt.Sprintf("%q replaces %s of the same name", def.Name, shownFile(old)), Fix: "give it another name to have both",
			})
		}
		m.byName[f.name] = def
	}
}

// shadowing is def with the mark of what it replaced.
func shadowing(def, old *Definition) *Definition {
	d := *def
	d.Shadows = shownFile(old)
	return &d
}

func shownFile(d *Definition) string {
	if d.BuiltIn {
		return "built-in"
	}
	return d.File
}

func (m *merge) snapshot(version uint64, dir string) *Snapshot {
	s := &Snapshot{Version: version, byName: m.byName, diagnostics: m.diagnostics, dir: dir}
	for _, name := range slices.Sorted(maps.Keys(m.byName)) {
		s.agents = append(s.agents, m.byName[name])
	}
	sortDiagnostics(s.diagnostics)
	return s
}
