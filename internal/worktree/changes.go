package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is what has happened to a file.
type Kind string

// The kinds. A moved file is a deleted and an added one.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is a file that differs from what the worktree was made of.
type Change struct {
	Path       string `json:"path"` // slash-separated, relative to the worktree
	Kind       Kind   `json:"kind"`
	Insertions int    `json:"insertions"` // lines
	Deletions  int    `json:"deletions"`
	Binary     bool   `json:"binary,omitempty"` // its lines are not counted
}

// Changes are what was done in a worktree, committed there or not.
type Changes struct {
	Files   []Change // by path
	Commits int      // on its branch

	// Left are repositories of their own that were made in the worktree, whose
	// files are not among Files.
	Left []string

	base, tree string // the two trees
	tip        string // of the branch
}

// Diffstat says in one line how much has changed, as git does.
func (c *Changes) Diffstat() string {
	if len(c.Files) == 0 {
		return "no files changed"
	}
	insertions, deletions := 0, 0
	for _, f := range c.Files {
		insertions, deletions = insertions+f.Insertions, deletions+f.Deletions
	}
	count := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return strconv.Itoa(n) + " " + many
	}
	text := count(len(c.Files), "file changed", "files changed")
	if insertions > 0 {
		text += ", " + count(insertions, "insertion(+)", "insertions(+)")
	}
	if deletions > 0 {
		text += ", " + count(deletions, "deletion(-)", "deletions(-)")
	}
	return text
}

// errUnfinished is the error for a worktree that was never finished.
var errUnfinished = errors.New("the worktree was never finished, its process was killed: there is no work in it")

// Changes compares the worktree with what it was made of.
func (w *Worktree) Changes(ctx context.Context) (*Changes, error) {
	c, err := w.changes(ctx)
	if err != nil {
		return nil, fmt.Errorf("the changes in %s: %w", w.Path, err)
	}
	return c, nil
}

func (w *Worktree) changes(ctx context.Context) (*Changes, error) {
	if w.Base == "" {
		return nil, errUnfinished
	}
	r, s, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	snap, err := r.snapshot(ctx, s)
	if err != nil {
		return nil, err
	}
	c := &Changes{tree: snap.tree}
	for _, path := range snap.left {
		if !slices.Contains(w.Left, path) {
			c.Left = append(c.Left, path)
		}
	}
	if c.base, err = s.line(ctx, nil, "rev-parse", w.Base+"^{tree}"); err != nil {
		return nil, fmt.Errorf("the commit that it was made of is missing in the repository: %w", err)
	}
	if c.tip, err = r.commit(ctx, "refs/heads/"+w.Branch); err != nil {
		return nil, err
	}
	if c.tip != "" && c.tip != w.Base {
		count, err := s.line(ctx, nil, "rev-list", "--count", w.Base+".."+c.tip)
		if err != nil {
			return nil, err
		}
		if c.Commits, err = strconv.Atoi(count); err != nil {
			return nil, err
		}
	}
	c.Files, err = s.diff(ctx, c.base, c.tree)
	return c, err
}

// open returns the worktree as a repository, and a scratch folder for its files.
func (w *Worktree) open(ctx context.Context) (*repository, *scratch, error) {
	r := &repository{w.Path, w.GitDir, w.Common}
	s, err := r.scratch(ctx, w.Path)
	return r, s, err
}

// diff compares two trees.
func (s *scratch) diff(ctx context.Context, from, to string) ([]Change, error) {
	between := []string{"-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", from, to}
	status, err := s.names(ctx, nil, append([]string{"diff-tree", "--name-status"}, between...)...)
	if err != nil {
		return nil, err
	}
	lines, err := s.names(ctx, nil, append([]string{"diff-tree", "--numstat"}, between...)...)
	if err != nil {
		return nil, err
	}
	kinds := map[string]Kind{"A": Added, "D": Deleted}
	byPath := make(map[string]Kind)
	for i := 0; i+1 < len(status); i += 2 {
		kind, ok := kinds[status[i]]
		if !ok {
			kind = Modified
		}
		byPath[status[i+1]] = kind
	}
	var files []Change
	for _, line := range lines {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("git diff-tree: %q", line)
		}
		f := Change{Path: fields[2], Kind: byPath[fields[2]]}
		var bad [2]error
		f.Insertions, bad[0] = strconv.Atoi(fields[0])
		f.Deletions, bad[1] = strconv.Atoi(fields[1])
		f.Binary = bad[0] != nil || bad[1] != nil // "-"
		files = append(files, f)
	}
	return files, nil
}
