// Package rootfs reaches the files below one folder, and no others.
//
// Files are reached only through an [os.Root]. Neither "..", nor an absolute path, nor
// a symbolic link leads out of the folder, even if a link changes in between. Paths are
// slash-separated and relative to it. An error names the path as [Show] has it, and is
// fit for a model to read.
package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
)

// Folder is an open folder. It is safe for concurrent use.
type Folder struct {
	root   *os.Root
	opened *os.File // the folder, for calls that os.Root does not make
	dir    string   // its real path
	names  []string // its absolute paths: dir, and the one given to Open
	home   string
}

// Open opens a folder. home is what "~" means in paths; empty means that it is
// a name like any other. Close the folder afterwards.
func Open(dir, home string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	opened, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Folder{root: root, opened: opened, dir: real, names: slices.Compact([]string{real, abs}), home: home}, nil
}

// Close releases the folder. Later calls fail.
func (f *Folder) Close() error { return errors.Join(f.opened.Close(), f.root.Close()) }

// Dir returns the real path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Names returns the absolute paths of the folder: the real one, and the one by which it was
// opened, if that differs.
func (f *Folder) Names() []string { return f.names }

// FS returns the folder as a file system.
func (f *Folder) FS() fs.FS { return f.root.FS() }

// Lstat describes the file at real, and does not follow it if it is a symbolic link.
func (f *Folder) Lstat(real string) (fs.FileInfo, error) { return f.root.Lstat(real) }

// Readlink returns the target of the symbolic link at real.
func (f *Folder) Readlink(real string) (string, error) { return f.root.Readlink(real) }

// maxPathBytes is how long a path may be: what most systems take, and little
// enough to walk through its folders.
const maxPathBytes = 4096

// Rel returns p, as a model wrote it, slash-separated, cleaned and relative to the
// folder; "." is the folder itself. It looks at no file. The path is cleaned
// before symbolic links are followed: "link/../a" is "a".
func (f *Folder) Rel(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("path is empty: give one relative to the workspace, such as %q", "src/main.go")
	case len(p) > maxPathBytes:
		return "", fmt.Errorf("path of %d bytes, which begins with %q: no path may have more than %d", len(p), termtext.Head(p, 40), maxPathBytes)
	case strings.ContainsRune(p, 0):
		return "", fmt.Errorf("path %q contains a NUL character", p)
	}
	full := p
	if f.home != "" && (p == "~" || strings.HasPrefix(p, "~/")) {
		full = f.home + p[1:]
	}
	if filepath.IsAbs(full) {
		rel, ok := f.RelAbs(full)
		if !ok {
			return "", f.outside(p)
		}
		return rel, nil
	}
	rel := path.Clean(filepath.ToSlash(full))
	if rel == ".." || strings.HasPrefix(rel, "../") || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", f.outside(p)
	}
	return rel, nil
}

// RelAbs makes an absolute path relative to the folder, if it is inside.
func (f *Folder) RelAbs(abs string) (rel string, ok bool) {
	for _, name := range f.names {
		if r, err := filepath.Rel(name, abs); err == nil && filepath.IsLocal(r) {
			return filepath.ToSlash(r), true
		}
	}
	return "", false
}

func (f *Folder) outside(p string) error {
	return fmt.Errorf("path %q is outside the workspace %s: give one relative to the workspace", p, f.dir)
}

// ReadDir returns the entries of a folder, by name.
func (f *Folder) ReadDir(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	opened, err := f.Open(dir)
	if err != nil {
		return nil, PathError(dir, err)
	}
	defer opened.Close()
	var all []fs.DirEntry
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("reading %s: %w", Show(dir), context.Cause(ctx))
		}
		some, err := opened.ReadDir(1000)
		all = append(all, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, PathError(dir, err)
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// Show returns a path as results show it: quoted if it holds characters
// that would tear the line apart.
func Show(p string) string {
	if !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		return strconv.Quote(p)
	}
	return p
}
