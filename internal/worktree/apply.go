package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ConflictError is the error of [Worktree.Apply] where the repository's working
// files have changed in the same places as the worktree.
type ConflictError struct {
	Conflicts []Conflict // by path
	Worktree  string     // where the changes still are
}

// Conflict is a file that can't be brought to the working files.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (e *ConflictError) Error() string {
	var paths []string
	for _, c := range e.Conflicts {
		paths = append(paths, c.Path+" ("+c.Reason+")")
	}
	return fmt.Sprintf("conflicts in %s: nothing was changed, and the worktree is kept in %s", showPaths(paths), e.Worktree)
}

// Applied is what [Worktree.Apply] has done.
type Applied struct {
	*Changes

	// Kept says why the worktree is still there; empty means it was removed.
	Kept string

	// Branch is the branch that stays, since it has commits of the worktree's
	// own; empty means it was removed.
	Branch string
}

// Apply brings the changes to the working files that the worktree was made of, as
// they are now, neither staged nor committed, and then removes the worktree. A
// file that has changed in both is merged line by line. Where that can't be done
// the error is a [*ConflictError], no file is changed and the worktree is kept, as
// with any other error. If the process is killed meanwhile, repeating the call
// does what is left.
func (w *Worktree) Apply(ctx context.Context) (*Applied, error) {
	end, err := w.store.lock(ctx, applying, true)
	if err != nil {
		return nil, err
	}
	defer end()
	changes, err := w.changes(ctx)
	if err != nil {
		return nil, fmt.Errorf("applying the worktree %s: %w", w.Path, err)
	}
	if w.AppliedAt.IsZero() {
		if err := w.apply(ctx, changes); err != nil {
			var conflict *ConflictError
			if errors.As(err, &conflict) {
				return nil, err
			}
			return nil, fmt.Errorf("applying the worktree %s: %w", w.Path, err)
		}
		w.AppliedAt = time.Now().UTC()
		if err := w.save(); err != nil {
			return nil, fmt.Errorf("the changes are applied; noting it: %w", err)
		}
	}
	applied := &Applied{Changes: changes}
	if changes.tip != w.Base && changes.tip != "" {
		applied.Branch = w.Branch
	}
	if len(changes.Left) > 0 {
		applied.Kept = "it holds repositories of their own, which are not brought over: " + showPaths(changes.Left)
		return applied, nil
	}
	if err := w.remove(ctx, applied.Branch == ""); err != nil {
		applied.Kept = "it can't be removed: " + err.Error()
	}
	return applied, nil
}

// apply changes the working files.
func (w *Worktree) apply(ctx context.Context, changes *Changes) error {
	if len(changes.Files) == 0 {
		return nil
	}
	r, err := findRepository(ctx, w.Repo)
	if err != nil {
		return err
	}
	if r.common != w.Common {
		return fmt.Errorf("%s is another repository now: its folder was %s, and is %s", w.Repo, w.Common, r.common)
	}
	s, err := r.scratch(ctx, r.top)
	if err != nil {
		return err
	}
	defer s.close()
	m := &merge{scratch: s, top: r.top}
	for _, f := range changes.Files {
		m.paths = append(m.paths, f.Path)
	}
	m.note()
	ours, err := r.snapshot(ctx, s)
	if err != nil {
		return err
	}
	if err := m.trees(ctx, changes.base, ours.tree, changes.tree); err != nil {
		return err
	}
	if err := m.decide(ctx, ours.left); err != nil {
		return err
	}
	if len(m.conflicts) > 0 {
		return &ConflictError{m.conflicts, w.Path}
	}
	return m.writeResults(ctx)
}

// entry is a file in a tree; the zero value: it has none.
type entry struct{ mode, id string }

// merge is three trees, of which the first is what the others come from.
type merge struct {
	*scratch
	top   string
	paths []string // that differ between base and theirs

	base, ours, theirs map[string]entry // ours: all files
	folders            map[string]bool  // of ours
	seen               map[string]fs.FileInfo

	result    map[string]entry // for paths that are to change
	conflicts []Conflict
}

// note takes down how the files are before a snapshot is made of them.
func (m *merge) note() {
	m.seen = make(map[string]fs.FileInfo)
	for _, p := range m.paths {
		if info, err := os.Lstat(m.on(p)); err == nil {
			m.seen[p] = info
		}
	}
}

// on is a path on disk.
func (m *merge) on(p string) string { return filepath.Join(m.top, filepath.FromSlash(p)) }

// trees reads the three trees.
func (m *merge) trees(ctx context.Context, base, ours, theirs string) error {
	for _, t := range []struct {
		id   string
		into *map[string]entry
	}{{base, &m.base}, {ours, &m.ours}, {theirs, &m.theirs}} {
		lines, err := m.names(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", t.id)
		if err != nil {
			return err
		}
		*t.into = make(map[string]entry, len(lines))
		for _, line := range lines {
			info, p, _ := strings.Cut(line, "\t")
			fields := strings.Fields(info) // mode, type, id
			if len(fields) != 3 {
				return fmt.Errorf("git ls-tree: %q", line)
			}
			(*t.into)[p] = entry{fields[0], fields[2]}
		}
	}
	m.folders = make(map[string]bool)
	for p := range m.ours {
		for dir := path.Dir(p); dir != "." && !m.folders[dir]; dir = path.Dir(dir) {
			m.folders[dir] = true
		}
	}
	return nil
}

func (m *merge) conflict(p, reason string) { m.conflicts = append(m.conflicts, Conflict{p, reason}) }

// decide works out what each path becomes, or why it can't.
func (m *merge) decide(ctx context.Context, nested []string) error {
	m.result = make(map[string]entry)
	for _, p := range m.paths {
		base, ours, theirs := m.base[p], m.ours[p], m.theirs[p]
		switch {
		case ours == theirs:
			continue // it is so already
		case ours == base:
			m.result[p] = theirs
		case base == (entry{}):
			m.conflict(p, "it was added in both")
		case ours == (entry{}):
			m.conflict(p, "it was changed in the worktree and deleted here")
		case theirs == (entry{}):
			m.conflict(p, "it was deleted in the worktree and changed here")
		case !mergeable(base) || !mergeable(ours) || !mergeable(theirs):
			m.conflict(p, "it was changed in both, and is no regular file")
		default:
			if err := m.mergeLines(ctx, p, base, ours, theirs); err != nil {
				return err
			}
		}
	}
	for _, p := range slices.Sorted(mapKeys(m.result)) {
		if m.result[p] != (entry{}) && m.ours[p] == (entry{}) {
			if reason := m.inTheWay(p, nested); reason != "" {
				m.conflict(p, reason)
			}
		}
	}
	slices.SortFunc(m.conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func mergeable(e entry) bool { return e.mode == modeFile || e.mode == modeExecutable }

// inTheWay says what lies where a new file is to go; "": nothing.
func (m *merge) inTheWay(p string, nested []string) string {
	for _, n := range nested {
		if p == n || strings.HasPrefix(p, n+"/") {
			return n + " is a repository of its own here"
		}
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(m.on(dir))
		if err != nil || info.IsDir() {
			continue
		}
		if to, changed := m.result[dir]; !changed || to != (entry{}) {
			return dir + " is a file here"
		}
	}
	info, err := os.Lstat(m.on(p))
	switch {
	case err != nil:
		return "" // not there, or below a file that goes
	case !info.IsDir():
		return "it is there already, and ignored"
	}
	return m.staysIn(p)
}

// staysIn says what stays in a folder that a file is to replace.
func (m *merge) staysIn(dir string) (reason string) {
	err := filepath.WalkDir(m.on(dir), func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(m.top, at)
		if err != nil {
			return err
		}
		if to, changed := m.result[filepath.ToSlash(rel)]; !changed || to != (entry{}) {
			reason = "it is a folder here, with " + filepath.ToSlash(rel)
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return reason
}

// mergeLines merges a file that both have changed.
func (m *merge) mergeLines(ctx context.Context, p string, base, ours, theirs entry) error {
	dir, err := os.MkdirTemp(m.dir, "merge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "-q"}
	for _, v := range []struct{ name, id string }{{"here", ours.id}, {"base", base.id}, {"worktree", theirs.id}} {
		text, err := m.git(ctx, nil, "cat-file", "blob", v.id)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			m.conflict(p, "it was changed in both, and is no text")
			return nil
		}
		file := filepath.Join(dir, v.name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		args = append(args, file)
	}
	merged, err := m.git(ctx, nil, args...)
	var failed *gitError
	switch {
	case errors.As(err, &failed) && failed.said == "" && !isExit(err, 255): // the status is the number of conflicts
		m.conflict(p, "the same lines were changed in both")
		return nil
	case err != nil:
		return err
	}
	id, err := m.line(ctx, merged, "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	to := entry{theirs.mode, id}
	if theirs.mode == base.mode {
		to.mode = ours.mode
	}
	if to != ours {
		m.result[p] = to
	}
	return nil
}
