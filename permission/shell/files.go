package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

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
