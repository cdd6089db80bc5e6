package instructions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/fileinfo"
	"github.com/agentworker/worker/internal/termtext"
)

// tree is a folder whose files are read, and nothing outside of it.
type tree struct {
	dir   string // absolute, without links
	shown string // stands before the names of its files; empty for a workspace
}

// look is what a look at a path has found; nil means there was nothing.
type look struct {
	path string
	info fs.FileInfo
}

// stat returns what a path leads to; nil means nothing.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// holds reports whether nothing has changed since the looks.
func holds(looks []look) bool {
	return !slices.ContainsFunc(looks, func(l look) bool { return !fileinfo.Same(stat(l.path), l.info) })
}

// errOutside is why a path is not read.
func (t *tree) errOutside() error {
	if t.shown != "" {
		return errors.New("it leads out of the folder " + strings.TrimSuffix(t.shown, "/"))
	}
	return errors.New("it leads out of the workspace")
}

// resolve returns where a path below the tree leads, relative to it.
func (t *tree) resolve(name string) (real string, err error) {
	full, err := filepath.EvalSymlinks(filepath.Join(t.dir, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	real, err = filepath.Rel(t.dir, full)
	if err != nil || !filepath.IsLocal(real) {
		return "", t.errOutside()
	}
	return filepath.ToSlash(real), nil
}

// read returns the beginning of the file at a path without links, which is text. cut says that
// the file has more.
func (t *tree) read(real string) (data []byte, cut bool, info fs.FileInfo, err error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, false, nil, err
	}
	defer root.Close()
	f, err := boundedfile.OpenIn(root, filepath.FromSlash(real))
	if err != nil {
		return nil, false, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, false, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, false, nil, err
	}
	if cut = len(data) > MaxBytes; cut {
		data = termtext.Head(data, MaxBytes)
	}
	if slices.Contains(data, 0) || !utf8.Valid(data) {
		return nil, false, nil, errors.New("it is not UTF-8 text")
	}
	return data, cut, info, nil
}

// text is the text of a file.
func text(data []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
}

// loader reads the files of a tree.
type loader struct {
	*tree
	seen  []*File // what all agents are given
	left  []LeftOut
	found []Diagnostic
	looks []look
}

func (l *loader) report(name string, line int, code, fix, format string, args ...any) {
	l.found = append(l.found, diag.At(name, line, min(line, 1), code, fix, fmt.Sprintf(format, args...)))
}

// unread reports a file that is not given.
func (l *loader) unread(name, fix string, err error) {
	l.report(name, 0, diag.InstructionsUnread, fix, "it is not given to agents: %s", errtext.Of(err))
}

// file reads the file of a name, if there is one, and its imports. A nil form means that the file
// has no fields.
func (l *loader) file(name string, form *form) (*File, []*File) {
	full := filepath.Join(l.dir, filepath.FromSlash(name))
	l.looks = append(l.looks, look{full, stat(full)})
	if _, err := os.Lstat(full); err != nil { // a link that leads nowhere is there, and is said
		return nil, nil
	}
	shown := l.shown + name
	f, sc, err := l.load(name, shown, form)
	if err != nil {
		l.unread(shown, "", err)
		return nil, nil
	}
	switch {
	case f == nil:
		return nil, nil
	case sc.never != "":
		l.left = append(l.left, LeftOut{shown, sc.never})
		return nil, nil
	case !sc.all() && len(f.globs) == 0:
		l.unread(shown, "write patterns such as src/**/*.ts", errors.New("it is about some files, and no pattern says which"))
		return nil, nil
	}
	return f, l.imports(name, f)
}

// load reads the file of a name. It is nil if it is empty.
func (l *loader) load(name, shown string, form *form) (*File, *scope, error) {
	real, err := l.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	if ext := strings.ToLower(path.Ext(real)); ext != ".md" && ext != ".mdc" { // a link may not show what nobody would take for instructions
		return nil, nil, fmt.Errorf("it leads to %s, which is no .md file", termtext.OneLine(real, termtext.MaxLabel))
	}
	data, cut, info, err := l.read(real)
	if err != nil {
		return nil, nil, err
	}
	f, sc := &File{Name: shown, Line: 1, Cut: cut, User: l.shown != "", info: info}, new(scope)
	if real != name && !f.User {
		f.real = real
	}
	f.Content = text(data)
	if form != nil {
		fields, body, line, why := parse(shown, data)
		if why != nil {
			return nil, nil, fmt.Errorf("line %d: %s", max(why.Line, 1), why.Message)
		}
		*sc = form.scope(fields)
		if fields.broken && sc.all() {
			sc.some = true
		}
		if f.Content, f.Line = body, line; !sc.all() {
			f.patterns = sc.patterns
			l.compile(f, form)
		}
	}
	trim(f)
	if f.Content == "" {
		return nil, nil, nil
	}
	return f, sc, nil
}

// compile adds the globs of the patterns of a file.
func (l *loader) compile(f *File, form *form) {
	for _, written := range f.patterns {
		p := strings.TrimPrefix(written, "/")
		if form.anchored && !strings.Contains(p, "/") {
			p = "./" + p
		}
		g, err := fileglob.Compile(p)
		if strings.HasPrefix(written, "!") {
			err = fmt.Errorf("%q begins with !, which no pattern may", written)
		}
		if err != nil {
			l.report(f.Name, 1, diag.InstructionsUnread, "correct the pattern", "a pattern of the files that it is about is not used: %s", errtext.Of(err))
			continue
		}
		f.globs = append(f.globs, g)
	}
}

// trim cuts blanks around the content of a file.
func trim(f *File) {
	whole := f.Content
	f.Content = strings.TrimSpace(whole)
	f.Line += strings.Count(whole[:strings.Index(whole, f.Content)], "\n")
}

// imports returns what f imports, directly or not: each file once, and none that all agents are
// given. name is the path of f in the tree.
func (l *loader) imports(name string, f *File) (all []*File) {
	type from struct {
		*File
		dir   string
		depth int
	}
	todo := []from{{f, path.Dir(name), 0}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, i := range Imports(at.Content) {
			if len(all) == maxImports {
				l.report(at.Name, at.Line+i.Line-1, diag.ImportUnread, "import fewer files", "@%s is not read: %s imports more than %d files", termtext.OneLine(i.Path, termtext.MaxLabel), f.Name, maxImports)
				return all
			}
			got, in := l.imported(at.File, at.dir, i)
			if got == nil || l.has(append(all, f), got) {
				continue
			}
			if at.depth == MaxDepth {
				l.report(at.Name, at.Line+i.Line-1, diag.ImportUnread, "import it from a file that is nearer to "+f.Name, "@%s is not read: imports are followed %d deep", termtext.OneLine(i.Path, termtext.MaxLabel), MaxDepth)
				continue
			}
			all = append(all, got)
			todo = append(todo, from{got, path.Dir(in), at.depth + 1})
		}
	}
	return all
}

// has reports whether a file is one of some, or of the files that all agents are given.
func (l *loader) has(some []*File, f *File) bool {
	return slices.ContainsFunc(slices.Concat(l.seen, some), func(g *File) bool { return same(f, g) })
}

// same reports whether two files are one, by whatever names, or say the same.
func same(a, b *File) bool { return os.SameFile(a.info, b.info) || a.Content == b.Content }

// imported reads a file that another one imports. It is nil if it is not used. real is its path
// in the tree.
func (l *loader) imported(by *File, dir string, i Import) (f *File, real string) {
	line, shown := by.Line+i.Line-1, termtext.OneLine(i.Path, termtext.MaxLabel)
	name := filepath.ToSlash(i.Path)
	switch {
	case path.IsAbs(name):
		rel, err := filepath.Rel(l.dir, filepath.FromSlash(name))
		if name = filepath.ToSlash(rel); err != nil {
			name = ".."
		}
	case strings.HasPrefix(name, "~"):
		name = ".."
	default:
		name = path.Join(dir, name)
	}
	document := slices.Contains([]string{".md", ".mdc", ".txt"}, strings.ToLower(path.Ext(i.Path)))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		if document {
			l.report(by.Name, line, diag.ImportUnread, "move the file", "@%s is not read: %s", shown, l.errOutside())
		}
		return nil, ""
	}
	full := filepath.Join(l.dir, filepath.FromSlash(name))
	info := stat(full)
	l.looks = append(l.looks, look{full, info})
	real, err := l.resolve(name)
	switch {
	case err == nil && info != nil && info.IsDir(), errors.Is(err, fs.ErrNotExist) && !document: // it is no import, as in @scope/package
		return nil, ""
	case err == nil:
		var data []byte
		f = &File{Line: 1, By: by.Name, User: by.User}
		if !f.User {
			f.real = real
		}
		if data, f.Cut, f.info, err = l.read(real); err == nil {
			f.Name, f.Content = l.shown+real, text(data)
			if trim(f); f.Content == "" {
				return nil, ""
			}
			return f, real
		}
	}
	l.report(by.Name, line, diag.ImportUnread, "", "@%s is not read: %s", shown, errtext.Of(err))
	return nil, ""
}
