package shell

import (
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

// redirect adds the file that a redirection opens.
func (a *analysis) redirect(st *state, r *syntax.Redirect) {
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
	switch {
	case freeDevice.MatchString(path): // what it leads to is judged where it is opened
		return
	case networkDevice.MatchString(path):
		a.unknown(a.written(r))
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
			a.outside("write_file", dir, path, false)
			a.file("edit_file", dir, path, true)
			st.wrote(filepath.Join(dir, path))
		}
	}
}

var (
	freeDevice    = regexp.MustCompile(`^/dev/(?:null|stdin|stdout|stderr|tty|fd/[0-9]+)$`)
	networkDevice = regexp.MustCompile(`^/dev/(?:tcp|udp)/`) // bash opens a connection
)

func (a *analysis) fileUnknown(read, write bool, text string) {
	if read {
		a.add(permission.Value{Tool: "read_file", Text: text, Unknown: true})
	}
	if write {
		a.add(permission.Value{Tool: "write_file", Text: text, Unknown: true})
	}
}

// rooted reports whether a path does not depend on the folder.
func rooted(path string) bool { return filepath.IsAbs(path) }

// file adds the values of a file.
func (a *analysis) file(tool, dir, path string, denyOnly bool) {
	for _, v := range a.fileValues(tool, dir, path) {
		v.DenyOnly = v.DenyOnly || denyOnly && !v.Unknown
		a.add(v)
	}
}

// outside adds the values of a file that is written, of which those outside of
// the workspace want a rule that names the place. onlyThere: those inside can
// do no more than deny.
func (a *analysis) outside(tool, dir, path string, onlyThere bool) {
	for _, v := range a.fileValues(tool, dir, path) {
		v.Outside = rooted(v.Text) && !v.Unknown
		v.DenyOnly = v.DenyOnly || onlyThere && !v.Outside && !v.Unknown
		a.add(v)
	}
}

// fileValues returns the values of a file; an unknown one where they cannot be
// told.
func (a *analysis) fileValues(tool, dir, path string) []permission.Value {
	if !rooted(path) {
		path = dir + "/" + path
	}
	if a.look(1 + strings.Count(path, "/")) {
		if values, err := a.ws.PathValues(tool, path); err == nil {
			return values
		}
	}
	return []permission.Value{{Tool: tool, Text: path, Unknown: true}}
}
