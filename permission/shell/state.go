package shell

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// state is what is known of a shell at a place in a script.
type state struct {
	vars    map[string]text
	cwd     string // the folder it is in; "": not certain
	went    string // where it is if the last cd did not fail
	funcs   map[string]function
	inFunc  []*syntax.Stmt // the bodies being called
	written []string       // files that the script has written
}

// function is a function of the script.
type function struct {
	body *syntax.Stmt
	sure bool // it is defined in any case
}

func (st *state) clone() *state {
	c := *st
	c.vars, c.funcs = maps.Clone(st.vars), maps.Clone(st.funcs)
	c.written, c.inFunc = slices.Clone(st.written), slices.Clone(st.inFunc)
	return &c
}

// set gives a variable a value; the zero text is an unknown one.
func (st *state) set(name string, value text) { st.vars[name] = value }

func (st *state) wrote(path string) {
	if len(st.written) < 100 && !slices.Contains(st.written, path) {
		st.written = append(st.written, path)
	}
}

// merge makes st a state of which st and each of the branches are cases, and
// reports whether that changed it.
func (st *state) merge(branches ...*state) (changed bool) {
	for _, b := range branches {
		for name, value := range b.vars {
			old, ok := st.vars[name]
			if merged := (text{number: value.isNumber() && old.isNumber()}); (!ok || old != value) && (!ok || old != merged) {
				st.vars[name] = merged
				changed = true
			}
		}
		if st.cwd != b.cwd {
			changed = changed || st.cwd != ""
			st.cwd = ""
		}
		for name, f := range b.funcs {
			if old, ok := st.funcs[name]; !ok || old.body != f.body {
				f.sure = false
				st.funcs[name] = f
			}
		}
		for _, path := range b.written {
			st.wrote(path)
		}
	}
	st.went = ""
	return changed
}

// succeeded takes the last cd to have worked.
func (st *state) succeeded() {
	if st.went != "" {
		st.cwd = st.went
	}
}

// cd follows a change of folder. Where the folder is not there (yet), the shell
// may be in the old one still.
func (st *state) cd(target text) {
	before := st.cwd
	st.cwd, st.went = "", ""
	next := target.s
	if !filepath.IsAbs(next) {
		next = filepath.Join(before, next)
	}
	if !target.known || !filepath.IsAbs(next) {
		return
	}
	st.went = filepath.Clean(next)
	if info, err := os.Stat(next); err == nil && info.IsDir() {
		st.cwd = st.went
	}
}
