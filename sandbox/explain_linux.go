package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// denials are what programs print when the kernel refuses them a file.
var denials = []string{"ermission denied", "ead-only file system", "peration not permitted", "EACCES", "EROFS", "EPERM"}

// maxExplained bounds the refusals that are explained for one command.
const maxExplained = 5

// Explain says which rules have refused something to the command: by the
// supervisor, or by hidden and read-only files. output is what the command has
// written; only files that it complains about are explained. Call it after
// Wait.
func (p *Process) Explain(output string) []Refusal {
	out := slices.Clone(p.Refused())
	add := func(r Refusal) {
		if !slices.ContainsFunc(out, func(o Refusal) bool { return o.Path == r.Path }) {
			out = append(out, r)
		}
	}
	profile := p.profile
	if slices.Contains(p.plan.Hidden, profile.Workspace) {
		add(Refusal{"open", profile.Workspace, profile.why(profile.Workspace, readTool)})
	}
	for line := range strings.Lines(output) {
		if !slices.ContainsFunc(denials, func(d string) bool { return strings.Contains(line, d) }) {
			continue
		}
		for _, path := range p.plan.Hidden {
			if profile.mentioned(line, path) {
				add(Refusal{"open", path, profile.why(path, readTool)})
			}
		}
		for _, path := range p.plan.ReadOnly {
			if path == profile.Workspace || profile.mentioned(line, path) {
				add(Refusal{"write", path, profile.why(path, writeTool)})
			}
		}
	}
	return out[:min(len(out), maxExplained)]
}

// mentioned reports whether a line names path, as a whole, from the workspace on,
// or by its last name.
func (p *Profile) mentioned(line, path string) bool {
	if rel, ok := strings.CutPrefix(path, p.Workspace+"/"); ok && strings.Contains(line, rel) {
		return true
	}
	return strings.Contains(line, path) || strings.Contains(line, filepath.Base(path))
}
