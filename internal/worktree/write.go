package worktree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/internal/fileinfo"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// writeResults writes the results to the working files: all, or none.
func (m *merge) writeResults(ctx context.Context) error {
	made, kept := filepath.Join(m.dir, "made"), filepath.Join(m.dir, "kept")
	for _, dir := range []string{made, kept} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := m.make(ctx, made); err != nil {
		return err
	}
	root, err := os.OpenRoot(m.top)
	if err != nil {
		return err
	}
	defer root.Close()
	p := &writer{merge: m, root: root, made: made, kept: kept}
	if err := p.all(ctx); err != nil {
		if back := p.undo(); back != nil {
			return fmt.Errorf("%w; and taking it back: %w", err, back)
		}
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}

// make makes the files of the result in a folder by git: with the line ends and encodings
// that working files have.
func (m *merge) make(ctx context.Context, dir string) error {
	var entries []string
	for p, e := range m.result {
		if e != (entry{}) {
			entries = append(entries, e.mode+" "+e.id+" 0\t"+p)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	slices.Sort(entries)
	index := filepath.Join(m.dir, "result")
	own := *m.scratch
	own.env = append(slices.Clip(m.env), "GIT_INDEX_FILE="+index)
	if _, err := own.git(ctx, joinNUL(entries), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	_, err := own.git(ctx, nil, "checkout-index", "--all", "--quiet", "--prefix="+filepath.ToSlash(dir)+"/")
	return err
}

// writer changes working files, and can take that back.
type writer struct {
	*merge
	root       *os.Root
	made, kept string
	done       []string // paths that were changed, or may be
}

// all makes every change: files are deleted before others are written.
func (p *writer) all(ctx context.Context) error {
	paths := slices.Sorted(mapKeys(p.result))
	for _, name := range paths {
		if err := p.keep(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, gone := range []bool{true, false} {
		for _, name := range paths {
			if gone != (p.result[name] == entry{}) {
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := p.unchanged(name); err != nil {
				return err
			}
			p.done = append(p.done, name)
			var err error
			if gone {
				err = p.delete(name)
			} else {
				err = p.write(name, filepath.Join(p.made, filepath.FromSlash(name)), p.seen[name])
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// unchanged returns an error if a file has changed since before the snapshot.
func (p *writer) unchanged(name string) error {
	was, is := p.seen[name], fs.FileInfo(nil)
	info, err := p.root.Lstat(filepath.FromSlash(name))
	if err == nil {
		is = info
	}
	switch {
	case was != nil && was.IsDir():
		return nil // emptied by now
	case !fileinfo.Same(was, is):
		return fmt.Errorf("%s is being changed: apply again when nobody works on it", name)
	}
	return nil
}

// keep copies the current file, for undo.
func (p *writer) keep(name string) error {
	info := p.seen[name]
	if info == nil || info.IsDir() {
		return nil
	}
	to := filepath.Join(p.kept, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := p.root.Readlink(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	from, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Chmod(info.Mode().Perm()), file.Close())
}

// write replaces a file in one step by another one. If only the content differs, the file keeps
// its mode.
func (p *writer) write(name, from string, was fs.FileInfo) error {
	local := filepath.FromSlash(name)
	dir := filepath.Dir(local)
	if dir != "." {
		if err := p.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, ".worker-"+rand.Text()+".tmp")
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err == nil {
			err = p.root.Symlink(target, temp)
		}
		if err != nil {
			return err
		}
	} else if err := p.copy(from, temp, info, was); err != nil {
		return errors.Join(err, ignoreGone(p.root.Remove(temp)))
	}
	if was != nil && was.IsDir() { // it is empty now
		if err := ignoreGone(p.root.Remove(local)); err != nil {
			return errors.Join(err, p.root.Remove(temp))
		}
	}
	if err := p.root.Rename(temp, local); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	return nil
}

// copy makes the file temp, on disk.
func (p *writer) copy(from, temp string, info, was fs.FileInfo) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666|info.Mode().Perm()&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil && was != nil && was.Mode().IsRegular() && was.Mode()&0o100 == info.Mode()&0o100 {
		err = dst.Chmod(was.Mode().Perm())
	}
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// delete removes a file, and the folders that are empty without it.
func (p *writer) delete(name string) error {
	if err := ignoreGone(p.root.Remove(filepath.FromSlash(name))); err != nil {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if p.root.Remove(filepath.FromSlash(dir)) != nil {
			break // it is not empty
		}
	}
	return nil
}

// undo puts back what was changed.
func (p *writer) undo() error {
	var errs []error
	for _, name := range slices.Backward(p.done) {
		was := p.seen[name]
		now, err := p.root.Lstat(filepath.FromSlash(name))
		switch {
		case err == nil && was != nil && os.SameFile(now, was): // not changed yet
		case was == nil || was.IsDir(): // what was in a folder comes back by itself
			errs = append(errs, p.delete(name))
		default:
			errs = append(errs, p.write(name, filepath.Join(p.kept, filepath.FromSlash(name)), was))
		}
	}
	return errors.Join(errs...)
}
