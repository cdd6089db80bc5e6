package shell

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

// files adds the files that a command is given: those that rules deny it to
// read or to write refuse the command.
func (a *analysis) files(st *state, name string, v argv) {
	a.outputs(st, name, v)
	if pathless[name] {
		return
	}
	var folders []string
	unknown := false
	message := false // the next word is a message, not a file
	for _, t := range v[1:] {
		if message || name == "git" && (t.s == "-m" || t.s == "--message") {
			message = !message
			continue
		}
		switch {
		case !t.known:
			unknown = true
		case t.glob:
			for _, dir := range st.dirs() {
				if dir == "" {
					unknown = true
					continue
				}
				files, ok := a.globbed(dir, t)
				unknown = unknown || !ok
				if len(files) == 0 {
					files = []string{t.s}
				}
				for _, f := range files {
					a.reads(st, name, f, true, &folders)
				}
			}
		default:
			a.reads(st, name, t.s, readers[name] && !strings.HasPrefix(t.s, "-"), &folders)
		}
	}
	dirs := a.workFolders(st, name, v)
	if dirs != nil {
		unknown = unknown || slices.Contains(dirs, "")
		other := st.clone()
		other.cwd = dirs
		for _, t := range v[1:] {
			if t.known && !t.glob {
				a.reads(other, name, t.s, readers[name] && !strings.HasPrefix(t.s, "-"), &folders)
			}
		}
	}
	if re := listed[name]; re != nil && slices.ContainsFunc(v[1:], func(t text) bool { return re.MatchString(t.s) }) {
		unknown = true
	}
	if unknown || len(st.cwd) == 0 && len(v) > 1 {
		a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
	}
	if goesDown(name, v) {
		if len(folders) == 0 && searchers[name] || name == "git" && len(v) > 1 {
			folders = append(folders, st.dirs()...)
		}
		for _, dir := range folders {
			a.tree(dir, permission.Value{Tool: "read_file", DenyOnly: true})
		}
	}
	if uploaders[name] {
		for _, dir := range folders {
			a.tree(dir, permission.Value{Tool: "read_file", DenyOnly: true, Possible: true})
		}
	}
}

// goesDown reports whether the command opens what is below its folders.
func goesDown(name string, v argv) bool {
	if name == "git" {
		return slices.ContainsFunc(v, func(t text) bool { return t.s == "grep" })
	}
	flags, ok := recursive[name]
	if !ok || flags == "" {
		return ok
	}
	letters, long, _ := strings.Cut(flags, " ")
	return slices.ContainsFunc(v[1:], func(t text) bool {
		if strings.HasPrefix(t.s, "--") { // which may be abbreviated
			return len(t.s) > 2 && slices.ContainsFunc(strings.Fields(long), func(l string) bool { return strings.HasPrefix(l, t.s) }) ||
				strings.HasPrefix(t.s, "--directories=recurse")
		}
		return t.s == "recurse" || len(t.s) > 1 && t.s[0] == '-' && strings.ContainsAny(t.s, letters) || !t.known
	})
}

// workFolders returns the folders that an option such as "-C" makes the
// command start in; "" stands for any.
func (a *analysis) workFolders(st *state, name string, v argv) []string {
	switch name {
	case "tar", "bsdtar", "gtar", "git", "make", "gmake", "go", "npm", "pnpm", "yarn", "cargo", "ninja":
	default:
		return nil
	}
	var dirs []string
	for i, t := range v {
		s := t.s
		to := ""
		switch {
		case (s == "-C" || s == "--directory" || s == "--prefix" || s == "--cwd" || s == "--dir") && i+1 < len(v):
			to = v[i+1].s
		case strings.HasPrefix(s, "--directory="), strings.HasPrefix(s, "--prefix="), strings.HasPrefix(s, "--cwd="), strings.HasPrefix(s, "--dir="):
			_, to, _ = strings.Cut(s, "=")
		case strings.HasPrefix(s, "-C") && len(s) > 2:
			to = s[2:]
		default:
			continue
		}
		for _, dir := range append(st.dirs(), dirs...) {
			if rooted(to) {
				dirs = append(dirs, to)
			} else if dir != "" {
				dirs = append(dirs, filepath.Join(dir, to))
			}
		}
		if slices.Sort(dirs); len(slices.Compact(dirs)) > maxDirs {
			return []string{""}
		}
		dirs = slices.Compact(dirs)
	}
	return dirs
}

// reads adds a word, and the parts of it that may name a file, as files that
// are read. always: also if it is not there.
func (a *analysis) reads(st *state, name, word string, always bool, folders *[]string) {
	if word == "" || word == "-" || word == "--" {
		return
	}
	parts, ok := fileParts(word)
	if !ok {
		a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
	}
	for _, part := range parts {
		for _, dir := range st.dirs() {
			if dir == "" && !rooted(part) {
				continue // files adds an unknown one
			}
			full := part
			if !rooted(part) {
				full = dir + "/" + part
			}
			if strings.HasPrefix(full, "/proc/") || strings.HasPrefix(full, "/dev/fd") {
				if name != "" && part != "/dev/fd/63" {
					a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
				}
				continue
			}
			if name != "ln" {
				a.through(st, "read_file", dir, part)
			}
			if !a.look(2) {
				a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
				return
			}
			info, err := os.Stat(full)
			_, lerr := os.Lstat(full)
			if lerr != nil && !(always && part == word) && !(name == "git" && part != word) && !slices.Contains(st.written, filepath.Clean(full)) {
				continue
			}
			if err == nil && info.IsDir() {
				*folders = append(*folders, filepath.Clean(full))
			}
			a.file("read_file", dir, part, true)
		}
	}
}

// through adds an unknown file where the path leads through a symlink that the
// script has made.
func (a *analysis) through(st *state, tool, dir, path string) {
	if !rooted(path) {
		path = filepath.Join(dir, path)
	}
	if st.throughLink(path) {
		a.add(permission.Value{Tool: tool, DenyOnly: true, Unknown: true})
	}
}

// fileParts returns the parts of a word that may be a file: "x" of "if=x",
// "--file=x", "-fx", "@x", "file://x" and "HEAD:x". ok is false where there are
// more than can be looked at.
func fileParts(word string) (parts []string, ok bool) {
	parts = []string{word}
	if rest, ok := strings.CutPrefix(word, "file://"); ok {
		return append(parts, strings.TrimPrefix(rest, "localhost")), true
	}
	for i := 0; i < len(word); i++ {
		if strings.IndexByte("=:,@<", word[i]) >= 0 {
			if len(parts) > maxParts {
				return parts[:1], false
			}
			from := i + 1
			if rest := word[from:]; rest != "" {
				parts = append(parts, rest)
				if end := strings.IndexAny(rest, ":,="); end > 0 {
					parts = append(parts, rest[:end])
				}
			}
		}
	}
	if i := strings.IndexAny(word, ":,="); i > 0 {
		parts = append(parts, word[:i])
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		parts = append(parts, word[2:])
	}
	return parts, true
}

// maxParts bounds the parts of a word that may be files.
const maxParts = 200

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

// maxTree bounds the files below a folder that are looked at one by one.
const maxTree = 5000

// tree adds a value like like for all that is below a folder.
func (a *analysis) tree(dir string, like permission.Value) {
	n := 0
	folds := a.ws.FoldsCase(dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it cannot be read by the command either
		}
		if n++; n > maxTree || !a.look(1) {
			return fs.SkipAll
		}
		if d.Type()&fs.ModeSymlink != 0 {
			for _, v := range a.fileValues(like.Tool, dir, path) {
				v.DenyOnly, v.Possible = like.DenyOnly && !v.Unknown, like.Possible
				a.add(v)
			}
			return nil
		}
		v := a.like(like, path)
		a.add(v)
		if folds {
			a.add(v.InLowerCase())
		}
		return nil
	})
	if err != nil || n > maxTree || !a.look(0) || dir == "" {
		a.add(permission.Value{Tool: like.Tool, DenyOnly: true, Unknown: true})
	}
}

// like returns a value for the file at path, which is free of symlinks.
func (a *analysis) like(like permission.Value, path string) permission.Value {
	v := a.ws.FileValue(like.Tool, path)
	v.DenyOnly, v.Possible = like.DenyOnly, like.Possible
	return v
}

// denyOnly adds a command that may or may not be run: if a rule denies it,
// that holds.
func (a *analysis) denyOnly(v argv) {
	a.add(permission.Value{Tool: a.tool, Text: v.line(), DenyOnly: true})
	a.spellings(v)
}
