package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// snapshot is what lies in the working files of a repository.
type snapshot struct {
	tree string   // the id of the tree
	left []string // folders that it does not hold: submodules, repositories of their own
}

// snapshot stores the working files of r as they are. The index of s, which
// begins as a copy of that of r, then has them.
func (r *repository) snapshot(ctx context.Context, s *scratch) (*snapshot, error) {
	if err := r.copyIndex(s); err != nil {
		return nil, err
	}
	steps := []func(context.Context, *snapshot) error{s.checkMerged, s.clearFlags, s.changed, s.untracked, s.filtered}
	snap := &snapshot{}
	for _, step := range steps {
		if err := step(ctx, snap); err != nil {
			return nil, err
		}
	}
	var err error
	snap.tree, err = s.line(ctx, nil, "write-tree", "--missing-ok")
	return snap, err
}

// copyIndex copies the index, and the parts that a split one has beside it.
func (r *repository) copyIndex(s *scratch) error {
	shared, err := filepath.Glob(filepath.Join(escapeGlob(r.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, from := range append(shared, filepath.Join(r.gitDir, "index")) {
		if err := copyFile(from, filepath.Join(s.dir, filepath.Base(from))); err != nil {
			return err
		}
	}
	return nil
}

func escapeGlob(path string) string {
	if os.PathSeparator == '\\' {
		return path // no escaping there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// maxShownPaths bounds the paths that an error names.
const maxShownPaths = 10

// showPaths names paths in a sentence.
func showPaths(paths []string) string {
	more := ""
	if n := len(paths) - maxShownPaths; n > 0 {
		paths, more = paths[:maxShownPaths], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(paths, ", ") + more
}

// checkMerged refuses an index in the middle of a merge.
func (s *scratch) checkMerged(ctx context.Context, _ *snapshot) error {
	entries, err := s.names(ctx, nil, "ls-files", "-z", "--unmerged")
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range entries {
		if _, path, ok := strings.Cut(e, "\t"); ok && (len(paths) == 0 || paths[len(paths)-1] != path) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		return fmt.Errorf("the repository is in the middle of a merge: resolve the conflicts in %s, and git add them", showPaths(paths))
	}
	return nil
}

// clearFlags has files looked at that the user has told git to pass over, where
// they are there.
func (s *scratch) clearFlags(ctx context.Context, _ *snapshot) error {
	entries, err := s.names(ctx, nil, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	var assumed, skipped []string
	for _, e := range entries {
		tag, path, _ := strings.Cut(e, " ")
		if strings.ToLower(tag) == tag {
			assumed = append(assumed, path)
		}
		if strings.ToUpper(tag) == "S" && s.exists(path) {
			skipped = append(skipped, path)
		}
	}
	if err := s.update(ctx, assumed, "--no-assume-unchanged"); err != nil {
		return err
	}
	return s.update(ctx, skipped, "--no-skip-worktree")
}

// exists reports whether there is something at path.
func (s *scratch) exists(path string) bool {
	_, err := os.Lstat(filepath.Join(s.tree, filepath.FromSlash(path)))
	return err == nil
}

// update changes the index for paths.
func (s *scratch) update(ctx context.Context, paths []string, how ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := s.git(ctx, joinNUL(paths), append(append([]string{"update-index"}, how...), "-z", "--stdin")...)
	return err
}

// changed adds the current content of the tracked files.
func (s *scratch) changed(ctx context.Context, _ *snapshot) error {
	fields, err := s.names(ctx, nil, "diff-files", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	var gone, there []string
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "D" {
			gone = append(gone, fields[i+1])
		} else {
			there = append(there, fields[i+1])
		}
	}
	if err := s.update(ctx, gone, "--force-remove"); err != nil {
		return err
	}
	return s.update(ctx, there, "--add", "--remove", "--replace")
}

// untracked adds the files that are neither tracked nor ignored.
func (s *scratch) untracked(ctx context.Context, snap *snapshot) error {
	found, err := s.names(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var files []string
	for _, path := range found {
		if strings.HasSuffix(path, "/") { // a repository of its own
			snap.left = append(snap.left, strings.TrimSuffix(path, "/"))
			continue
		}
		files = append(files, path)
	}
	return s.update(ctx, files, "--add", "--remove", "--replace")
}

// filtered adds files with a filter as they lie on disk, even if git finds no change in them:
// the index has the output of the filter. It also notes the submodules.
func (s *scratch) filtered(ctx context.Context, snap *snapshot) error {
	entries, err := s.names(ctx, nil, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	var files, filtered []string
	for _, e := range entries {
		info, path, _ := strings.Cut(e, "\t")
		if strings.HasPrefix(info, modeSubmodule+" ") {
			snap.left = append(snap.left, path)
		} else {
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	fields, err := s.names(ctx, joinNUL(files), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	for i := 0; i+2 < len(fields); i += 3 {
		if value := fields[i+2]; value != "unspecified" && value != "unset" && s.exists(fields[i]) {
			filtered = append(filtered, fields[i])
		}
	}
	if err := s.update(ctx, filtered, "--force-remove"); err != nil {
		return err
	}
	return s.update(ctx, filtered, "--add", "--remove", "--replace")
}

// The modes of git's entries.
const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"
)
