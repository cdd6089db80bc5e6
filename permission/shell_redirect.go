package permission

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect adds the file that a redirection opens.
func (a *shell) redirect(st *state, r *syntax.Redirect) {
	if r.Hdoc != nil {
		a.word(st, r.Hdoc)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.WordHdoc:
		a.word(st, r.Word)
		return
	}
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if lit := r.Word.Lit(); lit != "" && strings.Trim(lit, "0123456789-") == "" {
			return // a copy of a file descriptor
		}
	}
	write := r.Op != syntax.RdrIn && r.Op != syntax.DplIn
	read := r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.DplIn
	targets := a.fields(st, r.Word)
	if len(targets) != 1 || !targets[0].known || targets[0].glob {
		for _, t := range targets {
			a.fileUnknown(read, write, t.s)
		}
		if len(targets) == 0 {
			a.fileUnknown(read, write, a.written(r))
		}
		return
	}
	path := targets[0].s
	switch path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty":
		return
	}
	if strings.HasPrefix(path, "/dev/fd/") && targets[0].proc {
		return
	}
	for _, dir := range st.dirs() {
		if dir == "" && !rooted(path) {
			a.fileUnknown(read, write, path)
			continue
		}
		if read {
			a.file("read_file", dir, path, false)
		}
		if write {
			a.file("write_file", dir, path, false)
			a.file("edit_file", dir, path, true)
			st.wrote(filepath.Join(dir, path))
		}
	}
}

func (a *shell) fileUnknown(read, write bool, text string) {
	if read {
		a.add(Value{Tool: "read_file", Text: text, Unknown: true})
	}
	if write {
		a.add(Value{Tool: "write_file", Text: text, Unknown: true})
	}
}

// rooted reports whether a path does not depend on the folder.
func rooted(path string) bool { return filepath.IsAbs(path) }

// file adds the values of a file.
func (a *shell) file(tool, dir, path string, denyOnly bool) {
	if !rooted(path) {
		path = dir + "/" + path
	}
	var values []Value
	err := error(errManyLooks)
	if a.look(1 + strings.Count(path, "/")) {
		values, err = a.ws.PathValues(tool, path)
	}
	if err != nil {
		a.add(Value{Tool: tool, Text: path, Unknown: true})
		return
	}
	for _, v := range values {
		v.DenyOnly = v.DenyOnly || denyOnly
		a.add(v)
	}
}
