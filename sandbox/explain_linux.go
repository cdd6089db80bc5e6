package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// denials are what programs print when the kernel refuses them a file.
var denials = []string{"ermission denied", "ead-only file system", "peration not permitted", "EACCES", "EROFS", "EPERM"}

// busy is what they print when the kernel keeps a mounted file or folder where it is. What is hidden, read-only
// or pinned is mounted.
var busy = []string{"evice or resource busy", "EBUSY"}

// moveOrRemove is what such a call wanted.
const moveOrRemove = "move or remove"

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
		says := func(words []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
		}
		open, write := "open", "write"
		switch {
		case says(busy):
			open, write = moveOrRemove, moveOrRemove
			for _, path := range p.plan.pinned {
				if path == profile.Workspace && strings.Contains(line, path) {
					add(Refusal{moveOrRemove, path, "commands work in it"})
				} else if path != profile.Workspace && profile.mentioned(line, path) {
					add(Refusal{moveOrRemove, path, profile.why(path, writeTool)})
				}
			}
		case !says(denials):
			continue
		}
		for _, path := range p.plan.Hidden {
			if profile.mentioned(line, path) {
				add(Refusal{open, path, profile.why(path, readTool)})
			}
		}
		for _, path := range p.plan.ReadOnly {
			if path == profile.Workspace || profile.mentioned(line, path) {
				add(Refusal{write, path, profile.why(path, writeTool)})
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
