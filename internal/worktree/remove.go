package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Discard removes the worktree and its branch, with all work in it. A branch that
// is checked out elsewhere stays. What was cut off can be repeated.
func (w *Worktree) Discard(ctx context.Context) error {
	end, err := w.store.lock(ctx, applying, true)
	if err != nil {
		return err
	}
	defer end()
	if err := w.remove(ctx, true); err != nil {
		return fmt.Errorf("removing the worktree %s: %w", w.Path, err)
	}
	return nil
}

// DiscardUnused is [Worktree.Discard] for a worktree in which nothing was left: no
// change, no commit, no file that is ignored. It reports whether that was so.
func (w *Worktree) DiscardUnused(ctx context.Context) (bool, error) {
	c, err := w.Changes(ctx)
	if err != nil {
		return false, err
	}
	if len(c.Files) > 0 || len(c.Left) > 0 || c.tip != w.Base {
		return false, nil
	}
	_, s, err := w.open(ctx)
	if err != nil {
		return false, err
	}
	defer s.close()
	if err := copyFile(filepath.Join(w.GitDir, "index"), s.index()); err != nil {
		return false, err
	}
	others, err := s.names(ctx, nil, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")
	if err != nil || len(others) > 0 {
		return false, err
	}
	return true, w.Discard(ctx)
}

// remove removes the worktree, its branch if dropBranch is set, and last its note.
func (w *Worktree) remove(ctx context.Context, dropBranch bool) error {
	end, err := w.store.lock(ctx, adding, true)
	if err != nil {
		return err
	}
	defer end()
	if err := removeAll(w.Path); err != nil {
		return err
	}
	if _, err := os.Stat(w.Common); err == nil { // else the repository does not exist any more
		if err := w.forget(ctx, dropBranch); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(w.file()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// forget removes what the repository has of the worktree.
func (w *Worktree) forget(ctx context.Context, dropBranch bool) error {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(w.Common), "worktrees", "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		if err != nil || strings.TrimRight(string(back), "\r\n") != filepath.ToSlash(filepath.Join(w.Path, ".git")) {
			continue // another's
		}
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	_ = os.Remove(filepath.Join(w.Common, "worktrees")) // as git does where it was the last
	if !dropBranch {
		return nil
	}
	at := &repository{top: w.Common, gitDir: w.Common}
	name := "refs/heads/" + w.Branch
	tip, err := at.commit(ctx, name)
	if err != nil || tip == "" {
		return err
	}
	worktrees, err := at.git(ctx, nil, "worktree", "list", "--porcelain")
	if err != nil || strings.Contains(string(worktrees)+"\n", "\nbranch "+name+"\n") {
		return err
	}
	return at.change(ctx, "update-ref", "-d", name, tip)
}

// removeAll removes a folder, also where folders in it can't be written, such as
// those of Go's module cache.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(ignoreGone(err), os.RemoveAll(dir))
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
