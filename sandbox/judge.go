package sandbox

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/permission"
)

// verdict is what the rules say of a path.
type verdict struct{ read, write bool }

// judge returns what the rules say of an absolute, cleaned path.
func (p *Profile) judge(abs string) verdict { return p.judgeIn(abs, p.folds(abs)) }

// judgeIn is judge for a folder that takes names in any case, or does not.
func (p *Profile) judgeIn(abs string, folds bool) verdict {
	if slices.ContainsFunc(p.Hidden, func(h string) bool { return hides(h, p.Workspace, abs) }) {
		return verdict{}
	}
	asked := abs
	inner, isGit := "", false
	if dir, rest, ok := p.gitDir(abs); ok {
		// Names below .git are made up of branches and hashes: rules about
		// files mean the folder itself.
		asked, inner, isGit = dir, rest, true
	}
	v := p.rules(asked, folds)
	if inner != "" && v.read { // a rule may be about one of git's own files
		v.read = p.rulesWithin(abs, readTool, folds)
	}
	if _, given := givenFolder(p, abs); !p.Writable && !given || isGit && (gitplace.Controls(inner) || !p.ownGit(abs)) || ofBare(p.bare, abs) || p.protects(abs) != "" {
		v.write = false
	}
	return v
}

// hides reports whether abs is hidden by h. A workspace that lies in what is
// hidden, as a worktree in the state folder does, is not.
func hides(h, workspace, abs string) bool {
	return gitplace.Within(h, abs) && !(contains(h, workspace) && contains(workspace, abs))
}

// ownGit reports whether what git keeps at abs is the session's own.
func (p *Profile) ownGit(abs string) bool {
	return p.GitOwn == nil || slices.ContainsFunc(p.GitOwn, func(own string) bool { return contains(own, abs) })
}

// ofBare reports whether git takes settings or programs from abs, in a repository without working
// files.
func ofBare(bare []string, abs string) bool {
	return slices.ContainsFunc(bare, func(dir string) bool {
		return abs != dir && contains(dir, abs) && gitplace.Controls(abs[len(dir)+1:])
	})
}

// protects returns what protects a path; "": nothing.
func (p *Profile) protects(abs string) string {
	rel, ok := strings.CutPrefix(abs, p.Workspace+"/")
	if !ok {
		if i := slices.IndexFunc(p.around, func(x string) bool { return gitplace.Within(x, abs) }); i >= 0 {
			return p.around[i]
		}
		return ""
	}
	for _, x := range p.inside {
		if gitplace.Within(x, rel) {
			return p.Workspace + "/" + x
		}
	}
	if slices.Contains(p.around, p.Workspace) {
		return p.Workspace
	}
	for _, tail := range p.Anywhere {
		if gitplace.Below(tail, rel) {
			return tail
		}
	}
	return ""
}

// rules asks the rules about a path.
func (p *Profile) rules(abs string, folds bool) verdict {
	if f, ok := givenFolder(p, abs); ok { // it needs no rule that allows it
		denied := func(tool string) bool { return p.decideIn(tool, abs, folds) == permission.Deny }
		return verdict{read: !denied(readTool), write: f.Access == Read || !denied(writeTool) && !denied(editTool)}
	}
	return verdict{
		read:  p.may(p.decideIn(readTool, abs, folds)),
		write: p.may(p.decideIn(writeTool, abs, folds)) && p.decideIn(editTool, abs, folds) != permission.Deny,
	}
}

// rulesWithin reports whether a rule about git's own files lets the tool at abs.
func (p *Profile) rulesWithin(abs, tool string, folds bool) bool {
	d := p.layers.Decide(spellings(p.value(tool, abs), folds))
	return d.Action != permission.Deny || d.Rule == nil || !strings.Contains(d.Rule.Pattern, ".git")
}

func (p *Profile) may(a permission.Action) bool {
	return a == permission.Allow || a == permission.Ask && p.Approved
}

func (p *Profile) decide(tool, abs string) permission.Action {
	return p.decideIn(tool, abs, p.folds(abs))
}

func (p *Profile) decideIn(tool, abs string, folds bool) permission.Action {
	return p.layers.Decide(spellings(p.value(tool, abs), folds)).Action
}

// spellings are the value, and where folders take names in any case the one in small letters.
func spellings(v permission.Value, folds bool) []permission.Value {
	if folds {
		return []permission.Value{v, v.InLowerCase()}
	}
	return []permission.Value{v}
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
	Op   string `json:"op"` // read, open, change, make, symlink, link, rename, exchange, bound, connect, pipe, move or remove
	Path string `json:"path"`
	// Reason names the rule, or what else protects the path.
	Reason string `json:"reason"`
}

// refusedWrite returns why path may not be made or written; nil means it may.
func (p *Profile) refusedWrite(op, abs string) *Refusal {
	if gitplace.IsDotGit(path.Base(abs)) && contains(p.Workspace, abs) {
		return &Refusal{op, abs, gitplace.OwnRepository}
	}
	_, _, known := p.gitDir(abs)
	known = known || slices.Contains(p.bare, path.Dir(abs))
	if op != "open" && op != "change" && !known && gitplace.Completes(abs) {
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
	if _, inner, ok := p.gitDir(abs); ok && gitplace.Controls(inner) || ofBare(p.bare, abs) {
		return gitplace.Settings
	} else if ok && !p.ownGit(abs) {
		return "only the worktree's own branch is writable, not the rest of the repository"
	}
	if x := p.protects(abs); x != "" && tool == writeTool {
		return cmp.Or(p.reasons[x], x+" is protected")
	}
	for _, x := range p.Hidden {
		if hides(x, p.Workspace, abs) {
			return x + " is protected"
		}
	}
	if tool == writeTool && !p.Writable {
		return "the session has no right to write"
	}
	d := p.layers.Decide(spellings(p.value(tool, abs), p.folds(abs)))
	if tool == writeTool && d.Action == permission.Allow {
		d = p.layers.Decide(spellings(p.value(editTool, abs), p.folds(abs)))
	}
	if p.may(d.Action) {
		return "another name of the file is denied, or may be"
	}
	return d.Reason()
}

// leadsToDenied reports whether a symlink at abs could become part of a path
// that a rule denies: "conf" where "conf/prod/**" is denied.
func (p *Profile) leadsToDenied(abs string) bool {
	return leadsToProtected(p, abs) || leadsToRule(p, abs)
}

// leadsToProtected is the same for what is protected.
func leadsToProtected(p *Profile, abs string) bool {
	for _, x := range p.Protected {
		if x != abs && gitplace.Within(abs, x) {
			return true
		}
	}
	for _, tail := range p.Anywhere {
		for head := path.Dir(tail); head != "."; head = path.Dir(head) {
			if gitplace.EndsIn(head, strings.TrimPrefix(abs, p.Workspace+"/")) {
				return true
			}
		}
	}
	return false
}

func leadsToRule(p *Profile, abs string) bool {
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

// examples are paths that a rule names, and lets a tool at.
type examples struct {
	once  sync.Once
	paths []string // sorted
	names []string // the last elements of their patterns, which may be in any folder
}

// maxExamples bounds the rules of which an example is made.
const maxExamples = 1000

// mayCome reports whether something that is allowed could come into a folder, by a rule about a
// path in it; where the folder is empty, also by one about a name in any folder.
func (p *Profile) mayCome(tool, dir string, empty bool) bool {
	allowed := func(path string) bool {
		v := p.judge(path)
		return tool == writeTool && v.write || tool == readTool && v.read
	}
	e := p.coming[tool]
	e.once.Do(func() {
		for _, layer := range p.Rules {
			for _, r := range layer.Rules {
				if !p.may(r.Action) || !about(r, tool) || len(e.names) >= maxExamples {
					continue
				}
				path := anything.Replace(r.Pattern)
				if !filepath.IsAbs(path) {
					path = p.Workspace + "/" + path
				}
				e.names = append(e.names, filepath.Base(path))
				if path = filepath.Clean(path); allowed(path) {
					e.paths = append(e.paths, path)
				}
			}
		}
		slices.Sort(e.paths)
		slices.Sort(e.names)
		e.names = slices.Compact(e.names)
	})
	i, _ := slices.BinarySearch(e.paths, dir+"/")
	return i < len(e.paths) && contains(dir, e.paths[i]) ||
		empty && slices.ContainsFunc(e.names, func(name string) bool { return allowed(dir + "/" + name) })
}

// anything writes a name in the place of what stands for any.
var anything = strings.NewReplacer("**", "n", "*", "n", "?", "n")

// folding knows of folders whether they take names in any case.
type folding struct {
	mu    sync.Mutex
	known map[string]bool
}

func newFolding() *folding { return &folding{known: map[string]bool{"/": false}} }

// folds reports whether a folder on the way to the absolute path takes names in any case.
func (f *folding) folds(abs string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.folder(filepath.Dir(abs))
}

func (f *folding) folder(dir string) bool {
	folds, known := f.known[dir]
	if !known && dir != filepath.Dir(dir) {
		folds = f.folder(filepath.Dir(dir)) || foldsNames(dir)
		f.known[dir] = folds
	}
	return folds
}

// foldsNames reports whether a folder takes names in any case. Nothing is written to find out: a
// name of the folder in the other case leads to the same file, or it does not. One without a name to
// try, or that can't be listed, is as the folder above it.
var foldsNames = func(dir string) bool {
	f, err := os.Open(dir + "/.") // never a pipe
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(20)
	for _, name := range names {
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		own, err := os.Lstat(filepath.Join(dir, name))
		if other == name || err != nil {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, other))
		return err == nil && os.SameFile(own, info)
	}
	return false
}
