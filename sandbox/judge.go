package sandbox

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/permission"
)

// verdict is what the rules say of a path.
type verdict struct{ read, write bool }

// judge returns what the rules say of an absolute, cleaned path.
func (p *Profile) judge(abs string) verdict {
	if slices.ContainsFunc(p.Hidden, func(h string) bool { return p.hides(h, abs) }) {
		return verdict{}
	}
	asked := abs
	inner, isGit := "", false
	if dir, rest, ok := p.gitDir(abs); ok {
		// Names below .git are made up of branches and hashes: rules about
		// files mean the folder itself.
		asked, inner, isGit = dir, rest, true
	}
	v := p.rules(asked)
	if inner != "" && v.read { // a rule may be about one of git's own files
		v.read = p.rulesWithin(abs, readTool)
	}
	if !p.Writable || isGit && (gitplace.Controls(inner) || !p.ownGit(abs)) || slices.ContainsFunc(p.Protected, func(x string) bool { return contains(x, abs) }) {
		v.write = false
	}
	return v
}

// hides reports whether abs is hidden by h. A workspace that lies in what is
// hidden, as a worktree in the state folder does, is not.
func (p *Profile) hides(h, abs string) bool {
	return contains(h, abs) && !(contains(h, p.Workspace) && contains(p.Workspace, abs))
}

// ownGit reports whether what git keeps at abs is the session's own.
func (p *Profile) ownGit(abs string) bool {
	return p.GitOwn == nil || slices.ContainsFunc(p.GitOwn, func(own string) bool { return contains(own, abs) })
}

// rules asks the rules about a path.
func (p *Profile) rules(abs string) verdict {
	return verdict{
		read:  p.may(p.decide(readTool, abs)),
		write: p.may(p.decide(writeTool, abs)) && p.decide(editTool, abs) != permission.Deny,
	}
}

// rulesWithin reports whether a rule about git's own files lets the tool at abs.
func (p *Profile) rulesWithin(abs, tool string) bool {
	d := p.layers.Decide([]permission.Value{p.value(tool, abs)})
	return d.Action != permission.Deny || d.Rule == nil || !strings.Contains(d.Rule.Pattern, ".git")
}

func (p *Profile) may(a permission.Action) bool {
	return a == permission.Allow || a == permission.Ask && p.Approved
}

func (p *Profile) decide(tool, abs string) permission.Action {
	return p.layers.Decide([]permission.Value{p.value(tool, abs)}).Action
}

// value is the value that a file tool has of the path.
func (p *Profile) value(tool, abs string) permission.Value {
	v := permission.Value{Tool: tool, Text: abs, Abs: abs}
	switch rel, ok := strings.CutPrefix(abs, p.Workspace+"/"); {
	case abs == p.Workspace:
		v.Text = "."
	case ok:
		v.Text = rel
	default:
		v.Kind = permission.Outside
		if g, inner, ok := p.gitDir(abs); ok && p.GitOwn != nil {
			// The repository's folder belongs to the workspace, also when it is
			// outside.
			v.Text, v.Abs, v.Kind = path.Join(".git", inner), path.Join(cmp.Or(p.as, g), ".git", inner), permission.Wanted
		}
		return v
	}
	if p.as != "" {
		v.Abs = path.Join(p.as, v.Text)
	}
	return v
}

// gitDir returns the repository folder that abs is, or is in, and the path in it.
func (p *Profile) gitDir(abs string) (dir, inner string, ok bool) {
	for _, g := range p.GitDirs {
		if contains(g, abs) {
			return g, strings.TrimPrefix(strings.TrimPrefix(abs, g), "/"), true
		}
	}
	rel, ok := strings.CutPrefix(abs, p.Workspace+"/")
	if !ok {
		return "", "", false
	}
	for at := 0; at < len(rel); {
		name, _, _ := strings.Cut(rel[at:], "/")
		if gitplace.IsDotGit(name) {
			end := len(p.Workspace) + 1 + at + len(name)
			return abs[:end], strings.TrimPrefix(abs[end:], "/"), true
		}
		at += len(name) + 1
	}
	return "", "", false
}

// gitData are the folders of a repository that hold nothing but data: names
// below them are not looked at.
var gitData = []string{"objects", "refs", "logs", "lfs", "rr-cache", "info"}

// Refusal is what a sandbox did not let a command do.
type Refusal struct {
	Op   string `json:"op"` // read, open, make, symlink, link, rename, exchange, bound, connect
	Path string `json:"path"`
	// Reason names the rule, or what else protects the path.
	Reason string `json:"reason"`
}

// refusedWrite returns why path may not be made or written; nil means it may.
func (p *Profile) refusedWrite(op, abs string) *Refusal {
	if gitplace.IsDotGit(path.Base(abs)) && contains(p.Workspace, abs) {
		return &Refusal{op, abs, gitplace.OwnRepository}
	}
	if _, _, known := p.gitDir(abs); op != "open" && !known && gitplace.Completes(abs) {
		return &Refusal{op, abs, gitplace.Completed}
	}
	if p.judge(abs).write {
		return nil
	}
	return &Refusal{op, abs, p.why(abs, writeTool)}
}

// why says what keeps tool from the path.
func (p *Profile) why(abs, tool string) string {
	if gitplace.IsDotGit(path.Base(abs)) && tool == writeTool {
		return "it says where git finds its settings"
	}
	if _, inner, ok := p.gitDir(abs); ok && gitplace.Controls(inner) {
		return gitplace.Settings
	} else if ok && !p.ownGit(abs) {
		return "only the worktree's own branch is writable, not the rest of the repository"
	}
	for _, x := range p.Protected {
		if contains(x, abs) {
			return x + " is protected"
		}
	}
	for _, x := range p.Hidden {
		if p.hides(x, abs) {
			return x + " is protected"
		}
	}
	if tool == writeTool && !p.Writable {
		return "the session has no right to write"
	}
	d := p.layers.Decide([]permission.Value{p.value(tool, abs)})
	if tool == writeTool && d.Action == permission.Allow {
		d = p.layers.Decide([]permission.Value{p.value(editTool, abs)})
	}
	return d.Reason()
}

// leadsToDenied reports whether a symlink at abs could become part of a path
// that a rule denies: "conf" where "conf/prod/**" is denied.
func (p *Profile) leadsToDenied(abs string) bool {
	for _, x := range p.Protected {
		if x != abs && contains(abs, x) {
			return true
		}
	}
	for _, layer := range p.Rules {
		for _, r := range layer.Rules {
			if r.Action == permission.Allow || !about(r, writeTool) && !about(r, editTool) && !about(r, readTool) {
				continue
			}
			literal := r.Pattern
			if i := strings.IndexAny(literal, `*?[]{}()!+@|\"$^`); i >= 0 {
				literal = literal[:i]
			}
			if rest, ok := strings.CutPrefix(literal, p.as+"/"); ok && p.as != "" {
				literal = rest
			}
			if !filepath.IsAbs(literal) {
				literal = p.Workspace + "/" + strings.TrimPrefix(literal, "./")
			}
			if strings.HasPrefix(literal, abs+"/") {
				return true
			}
		}
	}
	return false
}
