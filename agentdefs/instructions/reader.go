package instructions

import (
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// UserFile is a file of the user's own, for all workspaces.
type UserFile struct {
	Kind  string
	Path  string // absolute
	Shown string // to people and models
}

// Options say what a Reader reads.
type Options struct {
	User   []UserFile   // they come first
	Kinds  []string     // of the files that are read, of User too; nil means [Default], and an empty list none
	Logger *slog.Logger // gets each warning once for each version of the files; nil means nobody does
}

// Reader reads the instructions of one workspace. It is safe for concurrent use.
type Reader struct {
	dir  string
	opts Options

	mu   sync.Mutex
	last *Set
}

// NewReader returns a reader of the workspace at dir, an absolute path without links. opts may be
// nil.
func NewReader(dir string, opts *Options) *Reader {
	r := &Reader{dir: dir}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Kinds == nil {
		r.opts.Kinds = Default()
	}
	if r.opts.Logger == nil {
		r.opts.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// At returns the reader of another folder with the files of the workspace, such as a worktree. It
// logs nothing.
func (r *Reader) At(dir string) *Reader {
	if dir == r.dir {
		return r
	}
	opts := r.opts
	opts.Logger = nil
	return NewReader(dir, &opts)
}

// Current returns the instructions as they are now. The files are read again when one of them has
// changed: what is returned is the same value otherwise.
func (r *Reader) Current() *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && holds(r.last.looks) {
		return r.last
	}
	r.last = load(r.dir, &r.opts)
	for _, d := range r.last.found {
		if d.Severity == diag.Warning {
			r.opts.Logger.Warn(d.Message, "file", d.File, "folder", r.dir)
		}
	}
	return r.last
}

// load reads what there is.
func load(dir string, opts *Options) *Set {
	l := &loader{}
	s := &Set{kinds: opts.Kinds}
	give := func(name string, form *form) {
		f, imports := l.file(name, form)
		switch {
		case f == nil || l.has(nil, f):
		case f.patterns != nil:
			s.scoped = append(s.scoped, append([]*File{f}, imports...))
		default:
			if !onlyImports(f.Content) {
				l.seen = append(l.seen, f)
			}
			for _, i := range imports { // f may be among the files that say the same as one of them
				if !l.has(nil, i) {
					l.seen = append(l.seen, i)
				}
			}
		}
	}
	for _, u := range opts.User {
		if !s.reads(u.Kind) {
			continue
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(u.Path)); err == nil {
			l.tree = &tree{folder, path.Dir(u.Shown) + "/"}
			give(filepath.Base(u.Path), nil)
		} else {
			l.looks = append(l.looks, look{u.Path, stat(u.Path)})
		}
	}
	l.tree = &tree{dir: dir}
	for _, top := range tops {
		if s.reads(top.kind) {
			give(top.path, nil)
		}
	}
	for _, form := range forms {
		if !s.reads(form.kind) {
			continue
		}
		for _, name := range l.list(&form) {
			give(name, &form)
		}
	}
	s.all, s.LeftOut, s.found, s.looks, s.tree = l.seen, l.left, l.found, l.looks, l.tree
	s.bound()
	diag.Sort(s.found)
	return s
}

// list returns the files of a form, in order.
func (l *loader) list(form *form) (names []string) {
	top := filepath.Join(l.dir, filepath.FromSlash(form.folder))
	info := stat(top)
	l.looks = append(l.looks, look{top, info})
	if info == nil || !info.IsDir() {
		return nil
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		l.unread(form.folder, "", err)
		return nil
	}
	defer root.Close()
	looked, full := 0, false
	err = fs.WalkDir(root.FS(), form.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil && name == form.folder {
			return err
		}
		if looked++; looked > maxEntries || len(names) == maxRules {
			full = true
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir() && name != form.folder:
			at := filepath.Join(l.dir, filepath.FromSlash(name))
			l.looks = append(l.looks, look{at, stat(at)})
		case !d.IsDir() && strings.HasSuffix(strings.ToLower(name), form.suffix):
			names = append(names, name)
		}
		return nil
	})
	switch {
	case err != nil:
		l.unread(form.folder, "", err)
	case full:
		l.report(form.folder, 0, diag.InstructionsUnread, "remove what agents do not need", "the folder has more than %d files of rules, or %d entries; the rest is not read", maxRules, maxEntries)
	}
	return names
}
