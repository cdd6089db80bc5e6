package shell

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// outputFlags are the options whose argument a command writes to.
var outputFlags = regexp.MustCompile(`^(?:-o|-O|--output|--output-file|--output-document|--out|--outfile|--outFile|-out|--log-file|--logfile|-w|--write-out-file|--dump-header|--cookie-jar|--trace|--trace-ascii|--etag-save|--save-cookies|--stderr|--report|--?(?:cover|cpu|mem|block|mutex)profile)$`)

// bundledOutput is -o behind other letters, as in "sort -uo x".
var bundledOutput = regexp.MustCompile(`^-[a-zA-Z]+[oO]$`)

// gluedOutput finds the file in "--output=x", "of=x" and "-ox".
var gluedOutput = regexp.MustCompile(`^(?:--(?:output|output-file|output-document|out|outfile|log-file|logfile|dump-header|cookie-jar|trace|trace-ascii|etag-save|save-cookies|stderr)=|of=|-o|-O|--?(?:cover|cpu|mem|block|mutex)profile=)(.+)$`)

// changed are commands that write each operand; lastChanged those that write
// the last, or into it; both after the options.
var (
	changed     = wordSet(`tee touch truncate rm unlink shred mkdir rmdir chmod chown chgrp sponge gzip gunzip bzip2 bunzip2 xz unxz zstd dos2unix unix2dos mkfifo mknod setfacl chattr xattr rename mv`)
	lastChanged = wordSet(`cp mv ln install scp rsync link symlink objcopy ffmpeg convert magick`)
	optionArgs  = map[string]string{"truncate": "sr", "touch": "drt", "install": "mogtS", "cp": "tS", "mv": "tS", "ln": "tS", "mkdir": "m",
		"scp": "PiFolcSJ", "rsync": "efB", "tee": "", "shred": "ns", "split": "abCln"}
)

// outputs adds the files that a command writes.
func (a *analysis) outputs(st *state, name string, v argv) {
	readOnlyO := name == "grep" || name == "egrep" || name == "rg" || name == "ls" || name == "ps" || name == "set" || name == "find" || name == "ssh" || name == "git"
	for i, t := range v {
		if i == 0 {
			continue
		}
		if (outputFlags.MatchString(t.s) || name == "curl" && (t.s == "-D" || t.s == "-c") || bundledOutput.MatchString(t.s)) && i+1 < len(v) && !readOnlyO && !(t.s == "-w" && name != "tcpdump" && name != "tshark" && name != "dumpcap") {
			a.writes(st, v[i+1])
		} else if m := gluedOutput.FindStringSubmatch(t.s); m != nil && !readOnlyO {
			a.writes(st, text{s: m[1], known: t.known})
		}
	}
	args := operands(v[1:], optionArgs[name])
	if (name == "chmod" || name == "chown" || name == "chgrp" || name == "chattr" || name == "setfacl") && len(args) > 0 {
		args = args[1:]
	}
	if changed[name] {
		for _, t := range args {
			a.writes(st, t)
		}
	}
	if lastChanged[name] {
		a.target(st, v, args)
	}
	switch name {
	case "uniq", "xxd":
		if len(args) > 1 {
			a.writes(st, args[1])
		}
	case "gunzip", "gzip", "bunzip2", "bzip2", "unxz", "xz", "zstd": // which take an ending away
		for _, t := range args {
			a.writes(st, text{s: strings.TrimSuffix(t.s, path.Ext(t.s)), known: t.known && !t.glob})
		}
	case "zip", "script":
		if len(args) > 0 {
			a.writes(st, args[0])
			a.writes(st, args[len(args)-1])
		}
	case "ssh-keygen", "logrotate":
		for _, t := range args {
			a.writes(st, t)
		}
	case "docker", "podman", "nerdctl", "kubectl", "oc", "aws", "gsutil", "gcloud", "rclone", "s3cmd", "mc":
		if i := slices.IndexFunc(args, func(t text) bool { return t.s == "cp" || t.s == "sync" || t.s == "copy" }); i >= 0 {
			a.target(st, v, args[i+1:])
		}
	case "curl", "wget":
		for _, t := range v[1:] {
			if name == "wget" && !strings.HasPrefix(t.s, "-") || name == "curl" && strings.Contains(t.s, "://") {
				if base := path.Base(t.s); strings.Contains(v.line(), "-O") || strings.Contains(v.line(), "remote-name") || name == "wget" {
					a.writes(st, text{s: base, known: t.known})
				}
			}
		}
	case "tar", "bsdtar", "gtar":
		if len(v) > 1 && extracts(v) {
			a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
		} else {
			for i, t := range v {
				if i > 0 && i+1 < len(v) && (strings.HasPrefix(t.s, "-") || i == 1) && strings.HasSuffix(t.s, "f") && !strings.HasPrefix(t.s, "--") && v[i+1].s != "-" {
					a.writes(st, v[i+1])
				}
			}
		}
	case "unzip", "cpio", "7z", "patch", "pax", "dpkg", "unrar":
		a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
	case "git":
		a.gitOutputs(st, v)
	case "perl", "ruby":
		if slices.ContainsFunc(v, func(t text) bool { return strings.HasPrefix(t.s, "-") && strings.Contains(t.s, "i") }) {
			for _, t := range args {
				a.writes(st, t)
			}
		}
	case "split", "csplit":
		a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true, Text: ""})
	}
}

// extracts reports whether tar writes files.
func extracts(v argv) bool {
	if slices.ContainsFunc(v, func(t text) bool { return t.s == "--extract" || t.s == "--get" }) {
		return true
	}
	if slices.ContainsFunc(v, func(t text) bool { return t.s == "-O" || t.s == "--to-stdout" }) {
		return false
	}
	for i, t := range v[1:] {
		if (i == 0 || strings.HasPrefix(t.s, "-") && !strings.HasPrefix(t.s, "--")) && strings.Contains(t.s, "x") && !strings.ContainsAny(t.s, "/.") {
			return true
		}
	}
	return false
}

// target adds what cp and its like write: the last operand, or a file in it.
func (a *analysis) target(st *state, v, args argv) {
	var to text
	from := args
	switch {
	case slices.ContainsFunc(v, func(t text) bool { return t.s == "-t" || strings.HasPrefix(t.s, "--target-directory") }):
		for i, t := range v {
			if t.s == "-t" && i+1 < len(v) || t.s == "--target-directory" && i+1 < len(v) {
				to = v[i+1]
			} else if _, dir, ok := strings.Cut(t.s, "--target-directory="); ok {
				to = text{s: dir, known: t.known}
			}
		}
	case len(args) > 1:
		to, from = args[len(args)-1], args[:len(args)-1]
	case len(args) == 1 && commandName(v) == "ln":
		to = text{s: path.Base(args[0].s), known: args[0].known}
	default:
		return
	}
	a.writes(st, to)
	if !to.known || to.glob {
		return
	}
	for _, dir := range st.dirs() {
		full := to.s
		if !rooted(full) {
			full = filepath.Join(dir, full)
		}
		into := false
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			into = true
			for _, f := range from {
				if f.known && !f.glob {
					a.writes(st, text{s: filepath.Join(to.s, path.Base(f.s)), known: true})
				} else {
					a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
				}
			}
		}
		for _, f := range from {
			if commandName(v) != "ln" && f.known && !f.glob && (dir != "" || rooted(f.s)) {
				a.copies(dir, f.s, full, into)
			}
		}
	}
	if commandName(v) == "ln" && slices.ContainsFunc(from, func(t text) bool { return a.isFolder(st, t) || !t.known || t.glob }) {
		for _, dir := range st.dirs() {
			st.links(filepath.Join(dir, to.s))
			for _, t := range from {
				st.links(filepath.Join(dir, to.s, path.Base(t.s)))
			}
		}
	}
}

// copies adds the files that come of copying a folder to another place, or
// into it.
func (a *analysis) copies(dir, from, to string, into bool) {
	if !rooted(from) {
		from = filepath.Join(dir, from)
	}
	if info, err := os.Lstat(from); err != nil || !info.IsDir() || !a.look(1) {
		return
	}
	n := 0
	_ = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if n++; n > maxTree || !a.look(1) {
			a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(from, p)
		if err != nil || relErr != nil {
			return nil // nor can the command read it
		}
		places := []string{filepath.Join(to, rel)}
		if into {
			places = append(places, filepath.Join(to, filepath.Base(from), rel))
		}
		for _, place := range places {
			a.add(a.like(permission.Value{Tool: "write_file", DenyOnly: true}, place))
			a.add(a.like(permission.Value{Tool: "edit_file", DenyOnly: true}, place))
		}
		return nil
	})
}

// writes adds a file that a command writes.
func (a *analysis) writes(st *state, t text) {
	if t.known && (t.s == "" || t.s == "-" || strings.HasPrefix(t.s, "/dev/null")) {
		return
	}
	for _, dir := range st.dirs() {
		targets := []string{t.s}
		unknown := !t.known
		if t.known && t.glob && dir != "" {
			files, ok := a.globbed(dir, t)
			unknown = !ok
			if len(files) > 0 {
				targets = files
			}
		}
		if unknown || dir == "" && !rooted(t.s) {
			a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
			a.add(permission.Value{Tool: "edit_file", DenyOnly: true, Unknown: true})
			continue
		}
		for _, target := range targets {
			a.through(st, "write_file", dir, target)
			a.file("write_file", dir, target, true)
			a.file("edit_file", dir, target, true)
			if !rooted(target) {
				target = filepath.Join(dir, target)
			}
			st.wrote(filepath.Clean(target))
		}
	}
}

// tameSed are scripts of sed that only edit and print.
var tameSed = regexp.MustCompile(`^(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\]|\\.)*/I?)(?:,\s*(?:[0-9]+|\$|\+[0-9]+|/(?:[^/\\]|\\.)*/I?))?)?\s*!?\s*(?:[pdqQPDNnhHgGx=]|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiIm0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiIm0-9]*|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiIm0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiIm0-9]*|y/(?:[^/\\]|\\.)*/(?:[^/\\]|\\.)*/)?\s*(?:;|\n|$))+$`)

// sed judges sed's script, and what -i edits.
func (a *analysis) sed(st *state, v argv) {
	var scripts argv
	inPlace := false
	rest := v[1:]
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		switch {
		case s == "-e" || s == "--expression":
			if i++; i < len(rest) {
				scripts = append(scripts, rest[i])
			}
		case strings.HasPrefix(s, "--expression="):
			scripts = append(scripts, text{s: strings.TrimPrefix(s, "--expression="), known: rest[i].known})
		case strings.HasPrefix(s, "--file"), strings.HasPrefix(s, "-f"):
			a.unknown(v.line())
		case strings.HasPrefix(s, "--in-place"):
			inPlace = true
		case len(s) > 1 && s[0] == '-' && s[1] != '-':
			inPlace = inPlace || strings.Contains(s, "i")
			if strings.HasSuffix(s, "e") && i+1 < len(rest) && !strings.Contains(s, "i") {
				i++
				scripts = append(scripts, rest[i])
			} else if strings.HasSuffix(s, "f") {
				a.unknown(v.line())
			}
		}
	}
	files := operands(rest, "efl")
	if len(scripts) == 0 && len(files) > 0 {
		scripts = files[:1]
		if !inPlace || len(files) > 1 && files[0].s != "" { // "sed -i '' s/a/b/ f" is BSD's
			files = files[1:]
		}
	}
	for _, t := range scripts {
		if !t.known || !tameSed.MatchString(t.s) && t.s != "" {
			a.unknown(v.line())
		}
	}
	if inPlace {
		for _, f := range files {
			a.writes(st, f)
		}
	}
}

// gitOutputs adds the files that git is told to write in the work tree.
func (a *analysis) gitOutputs(st *state, v argv) {
	after := false
	sub := ""
	for i, t := range v[1:] {
		switch {
		case sub == "" && !strings.HasPrefix(t.s, "-"):
			sub = t.s
		case t.s == "--":
			after = true
		case strings.HasPrefix(t.s, "--output="):
			a.puts(st, text{s: strings.TrimPrefix(t.s, "--output="), known: t.known})
		case t.s == "--output" || t.s == "-o" && (sub == "archive" || sub == "format-patch"):
			if i+2 < len(v) {
				a.puts(st, v[i+2])
			}
		case stagedOnly(sub, v):
		case sub == "bundle" && i > 0 && v[i].s == "create":
			a.puts(st, t)
		case (sub == "checkout" && after || sub == "restore" || sub == "rm" || sub == "mv") && !strings.HasPrefix(t.s, "-"):
			a.writes(st, t)
		}
	}
	if (sub == "apply" || sub == "am") && !stagedOnly(sub, v) {
		a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
	}
}

// isFolder reports whether a word names a folder that is there.
func (a *analysis) isFolder(st *state, t text) bool {
	return slices.ContainsFunc(st.dirs(), func(dir string) bool {
		if !rooted(t.s) {
			t.s = dir + "/" + t.s
		}
		info, err := os.Stat(t.s)
		return t.known && a.look(1) && err == nil && info.IsDir()
	})
}
