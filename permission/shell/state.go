package shell

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// state is what is known of a shell at a place in a script.
type state struct {
	vars    map[string]text
	cwd     []string // the folders it may be in; none: any
	went    []string // where it is if the last cd did not fail
	funcs   map[string]*syntax.Stmt
	inFunc  []*syntax.Stmt // the bodies being called
	written []string       // files that the script has written
	linked  []string       // symlinks to folders that it has made

	gitChanged bool // git has taken up files since
}

func (st *state) clone() *state {
	c := *st
	c.vars, c.funcs = maps.Clone(st.vars), maps.Clone(st.funcs)
	c.cwd, c.written, c.inFunc, c.linked = slices.Clone(st.cwd), slices.Clone(st.written), slices.Clone(st.inFunc), slices.Clone(st.linked)
	return &c
}

// set gives a variable a value; the zero text is an unknown one.
func (st *state) set(name string, value text) { st.vars[name] = value }

// dirs returns the folders that the shell may be in; "" stands for any.
func (st *state) dirs() []string {
	if len(st.cwd) == 0 {
		return []string{""}
	}
	return st.cwd
}

func (st *state) wrote(path string) {
	if len(st.written) < 100 && !slices.Contains(st.written, path) {
		st.written = append(st.written, path)
	}
}

// links notes a symlink to a folder, which is not there yet.
func (st *state) links(path string) {
	if len(st.linked) < 100 && !slices.Contains(st.linked, path) {
		st.linked = append(st.linked, path)
	}
}

// throughLink reports whether a path leads through a symlink that the script
// has made.
func (st *state) throughLink(path string) bool {
	path = filepath.Clean(path)
	return slices.ContainsFunc(st.linked, func(link string) bool {
		return within(link, path)
	})
}

// maxDirs bounds the folders that a shell is followed in.
const maxDirs = 8

// merge makes st a state of which st and each of the branches are cases, and
// reports whether that changed it.
func (st *state) merge(branches ...*state) (changed bool) {
	for _, b := range branches {
		for name, value := range b.vars {
			old, ok := st.vars[name]
			if (!ok || old != value) && (!ok || old.known) {
				st.vars[name] = text{}
				changed = true
			}
		}
		for _, dir := range b.dirs() {
			if !slices.Contains(st.dirs(), dir) {
				changed = true
				st.cwd = append(st.cwd, dir)
			}
		}
		if slices.Contains(st.cwd, "") || len(st.cwd) > maxDirs {
			st.cwd = nil
		}
		for name, body := range b.funcs {
			st.funcs[name] = body
		}
		for _, path := range b.written {
			st.wrote(path)
		}
		for _, path := range b.linked {
			st.links(path)
		}
		st.gitChanged = st.gitChanged || b.gitChanged
	}
	return changed
}

// mayBeIn adds folders that the shell may have stayed in.
func (st *state) mayBeIn(dirs []string) {
	for _, dir := range dirs {
		if len(st.cwd) > 0 && !slices.Contains(st.cwd, dir) {
			st.cwd = append(st.cwd, dir)
		}
	}
	if slices.Contains(st.cwd, "") || len(st.cwd) > maxDirs {
		st.cwd = nil
	}
	st.went = nil
}

// succeeded takes the last cd to have worked.
func (st *state) succeeded() {
	if st.went != nil {
		st.cwd = st.went
	}
}

// cd follows a change of folder. Where the folder is not there (yet), the
// shell may be in the old one still.
func (a *analysis) cd(st *state, target text) {
	st.cd(target)
	a.visited = append(a.visited, st.dirs()...)
}

func (st *state) cd(target text) {
	if !target.known || target.glob {
		st.cwd, st.went = nil, nil
		return
	}
	var to, all []string
	for _, dir := range st.dirs() {
		next := target.s
		if !rooted(next) {
			if dir == "" {
				st.cwd, st.went = nil, nil
				return
			}
			next = filepath.Join(dir, next)
		}
		next = filepath.Clean(next)
		to = append(to, next)
		if info, err := os.Stat(next); err != nil || !info.IsDir() {
			all = append(all, dir)
		}
		all = append(all, next)
	}
	st.cwd, st.went = slices.Compact(all), slices.Compact(to)
	if len(st.cwd) > maxDirs {
		st.cwd, st.went = nil, nil
	}
}

// rooted reports whether a path does not depend on the folder.
func rooted(path string) bool { return filepath.IsAbs(path) }

// within reports whether the cleaned path is the folder dir, or below it.
func within(dir, path string) bool {
	sep := string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}
