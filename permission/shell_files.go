package permission

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wordSet returns the words of s.
func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

var (
	// pathless commands open none of their operands.
	pathless = wordSet(`echo printf true false : cd pushd popd export unset read sleep exit return break continue shift wait
		kill killall pkill date dirname basename seq expr pwd which type whoami id uname hostname uptime yes nproc tty clear
		set umask ulimit jobs fg bg disown let getopts trap times ps df free env command builtin exec nohup timeout nice sudo eval
		find fd xargs parallel time watch sh bash ls test [ mkdir rmdir stat readlink realpath`)

	// readers open every operand, whether or not it is there yet.
	readers = wordSet(`cat bat batcat head tail less more tac nl od xxd hexdump hd strings base64 base32 basenc wc sort uniq cut
		paste join comm diff diff3 sdiff cmp colordiff md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum rev
		fold fmt column expand unexpand pr iconv view vi vim nvim nano emacs source . cp mv ln install scp rsync tar bsdtar zip gzip
		bzip2 xz zstd zcat bzcat xzcat zless zgrep gunzip bunzip2 unxz 7z split csplit tsort shuf tee dos2unix unix2dos openssl gpg
		mapfile readarray glow mdcat pygmentize highlight file od look`)

	// recursive commands also open what is below a folder, with one of the
	// letters or words as an option; "": always.
	recursive = map[string]string{
		"grep": "rR --recursive --dereference-recursive", "egrep": "rR --recursive", "fgrep": "rR --recursive", "zgrep": "rR",
		"rg": "", "ag": "", "ack": "", "ugrep": "", "cp": "raR --recursive --archive", "mv": "", "scp": "r", "rsync": "ra --recursive --archive",
		"tar": "", "bsdtar": "", "gtar": "", "zip": "r --recurse-paths", "7z": "", "diff": "r --recursive", "gzip": "r",
	}

	// searchers go through the folder they are in when they are given none.
	searchers = wordSet(`rg ag ack ugrep grep egrep fgrep`)
)

// files adds the files that a command is given: those that rules deny it to
// read or to write refuse the command.
func (a *shell) files(st *state, name string, v argv) {
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
		other := st.clone()
		other.cwd = dirs
		for _, t := range v[1:] {
			if t.known && !t.glob {
				a.reads(other, name, t.s, readers[name] && !strings.HasPrefix(t.s, "-"), &folders)
			}
		}
	}
	if unknown || len(st.cwd) == 0 && len(v) > 1 {
		a.add(Value{Tool: "read_file", DenyOnly: true, Unknown: true})
	}
	if goesDown(name, v) {
		if len(folders) == 0 && searchers[name] || name == "git" && len(v) > 1 {
			folders = append(folders, st.dirs()...)
		}
		for _, dir := range folders {
			a.tree(dir)
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
		if strings.HasPrefix(t.s, "--") {
			return slices.Contains(strings.Fields(long), t.s) || strings.HasPrefix(t.s, "--directories=recurse")
		}
		return len(t.s) > 1 && t.s[0] == '-' && strings.ContainsAny(t.s, letters) || !t.known
	})
}

// workFolders returns the folders that an option such as "-C" makes the
// command start in.
func (a *shell) workFolders(st *state, name string, v argv) []string {
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
	}
	return dirs
}

// reads adds a word, and the parts of it that may name a file, as files that
// are read. always: also if it is not there.
func (a *shell) reads(st *state, name, word string, always bool, folders *[]string) {
	if word == "" || word == "-" || word == "--" {
		return
	}
	for _, part := range fileParts(name, word) {
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
					a.add(Value{Tool: "read_file", DenyOnly: true, Unknown: true})
				}
				continue
			}
			if !a.look(2) {
				a.add(Value{Tool: "read_file", DenyOnly: true, Unknown: true})
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

// fileParts returns the parts of a word that may be a file: "x" of "if=x",
// "--file=x", "-fx", "@x", "file://x" and "HEAD:x".
func fileParts(name, word string) []string {
	parts := []string{word}
	if rest, ok := strings.CutPrefix(word, "file://"); ok {
		return append(parts, strings.TrimPrefix(rest, "localhost"))
	}
	for i := 0; i < len(word); i++ {
		if strings.IndexByte("=:,@<", word[i]) >= 0 {
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
	return parts
}

// maxTree bounds the files below a folder that are looked at one by one.
const maxTree = 5000

// tree adds all files below a folder as files that are read.
func (a *shell) tree(dir string) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it cannot be read by the command either
		}
		if n++; n > maxTree || !a.look(1) {
			return fs.SkipAll
		}
		if d.IsDir() {
			a.add(a.denied(path))
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			a.file("read_file", dir, path, true)
			return nil
		}
		a.add(a.denied(path))
		return nil
	})
	if err != nil || n > maxTree || !a.look(0) || dir == "" {
		a.add(Value{Tool: "read_file", DenyOnly: true, Unknown: true})
	}
}

// denied returns the value of a file that is read, free of symlinks.
func (a *shell) denied(path string) Value {
	v := a.ws.fileValue("read_file", path)
	v.DenyOnly = true
	return v
}
