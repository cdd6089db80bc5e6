package agentdefs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
	"github.com/agentworker/worker/internal/fileinfo"
)

// several completes out, the record of a file that may hold several agents. before is what was known
// of it.
func (r *reader) several(s *scan.File, data []byte, opts definition.Options, out, before *record) (*record, time.Time) {
	agents, found, ok := definition.ParseList(s.Shown, s.Form, data, opts)
	if !ok && r.known != nil {
		if age := time.Since(out.info.ModTime()); age >= 0 && age < writingTime {
			return before.unsettled(), out.info.ModTime().Add(writingTime)
		}
	}
	out.latest = definition.Parsed{File: s.Shown, Diagnostics: found}
	out.force = out.latest
	if !ok {
		out.keepAgents(before)
		return out, time.Time{}
	}
	for i := range agents {
		agent := &record{real: s.Real, info: out.info, hash: out.hash, latest: agents[i]}
		agent.decide(before.agent(agents[i].Key), false)
		out.agents = append(out.agents, agent)
	}
	return out, time.Time{}
}

// keepAgents gives a list that can't be read its earlier agents. Without any, the list may restrict
// all agents.
func (r *record) keepAgents(before *record) {
	r.force = r.latest
	if r.unknown = before == nil || before.unknown; r.unknown {
		return
	}
	for _, was := range before.agents {
		now := *was
		if was.force.Def != nil && !was.force.Def.Stale {
			now.force = stale(&was.force, was.force.Diagnostics, "the file is corrected", "correct the file, or remove it to stop the agent")
		}
		r.agents = append(r.agents, &now)
	}
}

// agent returns what was known of an agent of a list, by the place that it has there. r may be nil.
func (r *record) agent(key string) *record {
	if r == nil {
		return nil
	}
	for _, agent := range r.agents {
		if agent.latest.Key == key {
			return agent
		}
	}
	return nil
}

// each returns the records of single agents. An unknown list takes away everything merged so
// far.
func (m *merge) each(records []*record) (out []*record) {
	prompts := make(map[string]bool) // files that others name, which need not be agents themselves
	for _, r := range records {
		for i := 0; r != nil && i < len(r.references); i++ {
			prompts[r.references[i].real] = true
		}
	}
	for _, r := range records {
		switch {
		case r == nil:
			continue
		case !r.list:
			if !m.roles[r.latest.File] && !(r.latest.Bare && prompts[r.real]) {
				out = append(out, r)
			}
			continue
		case r.unknown:
			m.seal(r.latest.File)
		}
		m.diagnostics = append(m.diagnostics, r.latest.Diagnostics...)
		for _, agent := range r.agents {
			m.roles[agent.latest.File] = true
			out = append(out, agent)
		}
	}
	return out
}

// reference is a file named by another one, with its state at the last reading.
type reference struct {
	real string
	info fs.FileInfo // nil means it could not be read
}

// refersToSame reports whether the files that r names are as they were.
func (r *record) refersToSame(by *reader) bool {
	return !slices.ContainsFunc(r.references, func(ref reference) bool {
		if by.changed != nil && by.changed(ref.real) {
			return true
		}
		info, err := by.disk.Stat(ref.real)
		if err != nil {
			info = nil
		}
		return !fileinfo.Same(info, ref.info)
	})
}

// opener returns a function that reads the files named by s, and notes them in out. A file of the
// workspace can name only files of the workspace.
func (r *reader) opener(of *scan.Scan, s *scan.File, outside bool, out *record) definition.OpenFunc {
	return func(name string, suffixes []string) (data []byte, shown string, err error) {
		local := filepath.FromSlash(strings.TrimPrefix(name, "./"))
		at := filepath.Join(filepath.Dir(s.Real), local)
		if filepath.IsAbs(local) {
			at = local
		}
		shown = filepath.ToSlash(at)
		if rel, ok := of.Below(at, s); ok {
			shown = rel
		}
		real, err := disk.Within(r.disk, "evalsymlinks", at, func() (string, error) { return filepath.EvalSymlinks(at) })
		ref := reference{real: at}
		defer func() { out.references = append(out.references, ref) }()
		if err != nil {
			return nil, shown, errors.New("there is no such file")
		}
		ref.real = real
		if _, ok := of.Below(real, s); !ok && !outside {
			return nil, shown, errors.New("it is outside of the workspace")
		}
		if !slices.Contains(suffixes, strings.ToLower(path.Ext(shown))) || !slices.Contains(suffixes, strings.ToLower(filepath.Ext(real))) {
			return nil, shown, fmt.Errorf("its name ends in none of %s", strings.Join(suffixes, ", "))
		}
		got, err := r.disk.ReadFile(real)
		if ref.info = got.Info; err != nil {
			return nil, shown, err
		}
		return got.Data, shown, nil
	}
}

// begin starts the files of another tool. The lists of the last one do not bind them.
func (m *merge) begin(tool string) {
	if tool != m.tool {
		m.tool = tool
		clear(m.bound)
	}
}

// bind notes that a list restricts the agent of another file.
func (m *merge) bind(f *definition.Parsed) {
	if f.Key != "" && f.Def == nil && f.Has(diag.DescriptionMissing) {
		m.bound[f.Name] = f.File
	}
}

// unbound returns f without its agent if a list of the same tool restricts that. The two files are
// not merged.
func (m *merge) unbound(f *definition.Parsed) *definition.Parsed {
	list := m.bound[f.Name]
	if list == "" || f.Key != "" || f.Def == nil {
		return f
	}
	out := *f
	out.Def = nil
	m.report(f, diag.PermissionInvalid, "write all of it into one of the two files", "%s says what %q may do, and what both say together is not clear, so it is not served", list, f.Name)
	return &out
}

// countIn returns what counts the agents in a file of several.
func (l *loader) countIn(d *disk.Disk) func(path string, list dialect.List) int {
	return func(path string, list dialect.List) int {
		if !d.Exists(path) {
			return 0
		}
		got, err := d.ReadFile(path)
		if err != nil {
			return 0
		}
		agents, _, _ := definition.ParseList(list.Shown, list.Form, got.Data, l.opts.files())
		return len(agents)
	}
}
