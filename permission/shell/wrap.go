package shell

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// unwrap follows a command that runs another.
func (a *analysis) unwrap(st *state, name string, v argv) {
	switch {
	case slices.Contains(shells, name):
		a.runShell(st, v)
		return
	case interpreters.MatchString(name):
		a.interpreter(name, v)
	case strings.HasPrefix(name, "ld-linux"), strings.HasPrefix(name, "ld-musl"), strings.HasPrefix(name, "ld.so"):
		a.inner(st, skipOptions(v[1:], wrapper{long: []string{"--preload", "--library-path", "--audit", "--argv0", "--inhibit-rpath"}}))
		return
	}
	switch name {
	case "eval":
		rest := v[1:]
		switch {
		case rest.word(0) == "--":
			rest = rest[1:]
		case strings.HasPrefix(rest.word(0), "-"): // an option, which it has none of
			a.unknown(v.line())
		}
		a.joined(st, rest)
	case "command":
		if w := v.word(1); strings.HasPrefix(w, "-") && strings.ContainsAny(w, "vV") && w != "--" {
			return // asks only
		}
		a.inner(st, skipOptions(v[1:], wrappers[name]))
	case "env":
		a.env(st, v)
	case "find", "gfind", "fd", "fdfind":
		a.find(st, v)
	case "xargs", "parallel":
		a.xargs(st, name, v)
	case "script", "su", "runuser":
		if !a.dashC(st, v, "c", "--command", "--session-command") && name == "runuser" {
			a.inner(st, skipOptions(v[1:], wrapper{short: "ugGs", long: []string{"--user", "--group"}}))
		} else if name == "script" && len(st.dirs()) > 0 && !slices.ContainsFunc(v, func(t text) bool { return strings.Contains(t.s, "c") && strings.HasPrefix(t.s, "-") }) {
			a.unknown(v.line()) // a shell that reads its input
		}
	case "nix-shell", "vagrant":
		a.dashC(st, v, "c", "--run", "--command")
	case "jobs":
		if v.word(1) == "-x" {
			a.inner(st, v[2:])
		}
	case "cmake":
		a.cmake(st, v)
	case "docker", "podman", "nerdctl", "kubectl":
		a.remote(st, name, v)
	case "flock":
		if !a.dashC(st, v, "c", "--command") {
			a.inner(st, skipOptions(v[1:], wrappers[name]))
		}
	case "ssh", "scp", "sftp", "rsync", "tar", "bsdtar", "gtar", "zip", "make", "gmake", "sort", "split", "go", "man", "nc", "ncat", "socat",
		"gcc", "g++", "cc", "clang", "cargo", "less", "more", "tmux", "screen", "at", "batch", "crontab", "curl", "wget", "dd", "npm", "pnpm", "yarn", "pip",
		"ssh-keygen", "ssh-add", "ftp", "rpm", "run-parts", "sqlite3", "psql", "mysql", "mariadb", "ansible", "lftp", "gnuplot", "dc", "apt-get", "apt", "latex", "pdflatex", "xelatex", "lualatex", "tex", "pdftex":
		if a.escapes(name, v) {
			a.unknown(v.line())
		}
		switch name {
		case "ssh":
			a.remote(st, name, v)
		case "npm", "pnpm", "yarn":
			a.project(st, name, v)
		}
	case "git":
		a.git(st, v)
	case "awk", "gawk", "mawk", "nawk":
		a.program(v, regexp.MustCompile(`system|getline|[|>]|@|-f|ARGV`), "vF")
	case "sed", "gsed":
		a.sed(st, v)
	default:
		if w, ok := wrappers[name]; ok {
			rest := skipOptions(v[1:], w)
			if name == "sudo" && slices.ContainsFunc(v[1:len(v)-len(rest)], func(t text) bool { return t.s == "-e" || t.s == "--edit" }) {
				for _, t := range rest {
					a.writes(st, t)
				}
				a.files(st, "sudoedit", v)
				return
			}
			if name == "sudo" || name == "doas" || name == "cross-env" || name == "dotenv" || name == "systemd-run" {
				for len(rest) > 0 && assignment.MatchString(rest[0].s) {
					a.assigned(strings.SplitN(rest[0].s, "=", 2)[0], rest[0].s)
					rest = rest[1:]
				}
			}
			if slices.Contains(joiners, name) {
				a.joined(st, rest)
				return
			}
			a.inner(st, rest)
		} else if !runners[name] && !takesWords(name) && !interpreters.MatchString(name) {
			a.mayRun(v)
		}
	}
	if runners[name] {
		n := 0
		for i := 1; i < len(v) && n < 6; i++ {
			if !strings.HasPrefix(v[i].s, "-") {
				a.denyOnly(v[i:])
				n++
			}
		}
		a.dashC(st, v, "c", "--call")
	}
}

// cmake follows cmake -E, which runs commands and does some itself.
func (a *analysis) cmake(st *state, v argv) {
	if slices.ContainsFunc(v, func(t text) bool { return t.s == "-P" }) {
		a.unknown(v.line()) // a script
	}
	if v.word(1) != "-E" || len(v) < 3 {
		return
	}
	switch v.word(2) {
	case "env":
		a.env(st, v[2:])
	case "time":
		a.inner(st, v[3:])
	default:
		a.denyOnly(v[2:])
	}
}

// project judges the folder whose scripts npm and its like run.
func (a *analysis) project(st *state, name string, v argv) {
	for _, dir := range a.workFolders(st, name, v) {
		if !within(a.ws.Root, dir) {
			a.unknown(v.line())
		}
	}
	if slices.ContainsFunc(v, func(t text) bool { return t.s == "config" || t.s == "set" }) && len(v) > 3 && v.word(2) != "get" && v.word(2) != "list" && v.word(1) != "run" {
		a.unknown(v.line())
	}
}

// inner runs what a wrapper runs.
func (a *analysis) inner(st *state, v argv) {
	if len(v) > 0 {
		a.run(st, v, v.line())
	}
}

// joined runs words as eval does.
func (a *analysis) joined(st *state, v argv) {
	for _, t := range v {
		if !t.known || t.glob {
			a.unknown(v.line())
			return
		}
	}
	a.nested(st, text{s: v.line(), known: true})
}

// skipOptions returns what follows the options and operands of a wrapper.
// Where an option's argument is not certain, the rest may begin too early,
// with a word that no rule allows.
func skipOptions(v argv, w wrapper) argv {
	for len(v) > 0 {
		s := v[0].s
		switch {
		case s == "--" && v[0].known:
			v = v[1:]
			if len(v) < w.operands {
				return nil
			}
			return v[w.operands:]
		case len(s) > 1 && s[0] == '-':
			takes := slices.Contains(w.long, s) ||
				s[1] != '-' && strings.IndexByte(w.short, s[len(s)-1]) >= 0 && !strings.ContainsAny(s[1:len(s)-1], w.short)
			v = v[1:]
			if takes && len(v) > 0 {
				v = v[1:]
			}
		case w.operands > 0:
			w.operands--
			v = v[1:]
		default:
			return v
		}
	}
	return nil
}

// runShell follows sh and its like: a script given with -c; else one that
// cannot be known.
func (a *analysis) runShell(st *state, v argv) {
	for i := 1; i < len(v); i++ {
		s := v.word(i)
		switch {
		case s == "--version" || s == "--help":
			return
		case s == "-o" || s == "+o" || s == "-O" || s == "+O" || s == "--rcfile" || s == "--init-file":
			if s[1] == '-' {
				a.unknown(v.line())
			}
			i++
		case strings.HasPrefix(s, "--"):
		case len(s) > 1 && (s[0] == '-' || s[0] == '+'):
			if s[0] == '-' && strings.Contains(s, "c") {
				for i++; i < len(v) && len(v[i].s) > 1 && (v[i].s[0] == '-' || v[i].s[0] == '+'); i++ {
				}
				if i < len(v) {
					a.nested(st.clone(), v[i])
					return
				}
			}
		default:
			a.unknown(v.line())
			return
		}
	}
	a.unknown(v.line()) // what it reads
}

// dashC follows commands that take a script with an option.
func (a *analysis) dashC(st *state, v argv, letter string, long ...string) (found bool) {
	for i := 1; i < len(v); i++ {
		s := v[i].s
		for _, l := range long {
			if rest, ok := strings.CutPrefix(s, l+"="); ok {
				a.nested(st.clone(), text{s: rest, known: v[i].known})
				found = true
			}
		}
		short := len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, letter)
		if (short || slices.Contains(long, s)) && i+1 < len(v) {
			a.nested(st.clone(), v[i+1])
			found = true
		}
	}
	return found
}

// Commands that run one on another machine or in a container, with the letters
// of their options that take the next word. What a rule denies here it denies
// there; what it allows here says nothing of there.
var remoteOptions = map[string]string{
	"ssh": "BbcDEeFIiJLlmOopQRSWw", "docker": "aceEhlmptuvwH", "podman": "aceEhlmptuvw", "nerdctl": "aehlmptuvw", "kubectl": "cnsfl",
}

// remote follows the command that ssh, docker or kubectl carry elsewhere.
func (a *analysis) remote(st *state, name string, v argv) {
	if name == "kubectl" {
		if i := slices.IndexFunc(v, func(t text) bool { return t.s == "--" }); i >= 0 {
			a.elsewhere(st, v[i+1:])
			return
		}
	}
	options := wrapper{short: remoteOptions[name]}
	rest := skipOptions(v[1:], options)
	if name == "ssh" {
		if len(rest) > 1 { // behind the host, for a shell there
			v := skipOptions(rest[1:], options)
			a.elsewhere(st, v)
			a.elsewhere(st, argv{{s: "eval", known: true}, {s: v.line(), known: known(v)}})
		}
		return
	}
	if len(rest) > 0 && (rest[0].s == "compose" || rest[0].s == "container") {
		rest = skipOptions(rest[1:], options)
	}
	if len(rest) == 0 || !slices.Contains([]string{"run", "exec", "create"}, rest[0].s) {
		return
	}
	a.mounts(st, rest[1:])
	entry := entrypoint(rest)
	for i, t := range rest[1:] { // which word is the image cannot be told from an option's argument
		if !strings.HasPrefix(t.s, "-") && i < 20 {
			a.elsewhere(st, slices.Concat(entry, rest[i+2:]))
		}
	}
}

// entrypoint returns the program that a container is told to run.
func entrypoint(v argv) argv {
	for i, t := range v {
		if name, ok := strings.CutPrefix(t.s, "--entrypoint="); ok {
			return argv{{s: name, known: t.known}}
		}
		if t.s == "--entrypoint" && i+1 < len(v) {
			return v[i+1 : i+2]
		}
	}
	return nil
}

// elsewhere looks at a command that runs where this machine's files are not: a
// rule that denies it holds.
func (a *analysis) elsewhere(st *state, v argv) {
	if len(v) == 0 {
		return
	}
	b := &analysis{ws: a.ws, tool: a.tool, seen: map[permission.Value]bool{}, home: a.home, depth: a.depth, steps: a.steps, looks: a.looks}
	b.run(st.clone(), v, v.line())
	a.steps, a.looks = b.steps, b.looks
	for _, value := range b.values {
		if value.Tool == a.tool {
			value.DenyOnly, value.Written = true, ""
			if value.Unknown {
				value.Text = value.Text[:0] // it might be any command
			}
			a.add(value)
		}
	}
}

// mounts adds the folders of this machine that a container sees.
func (a *analysis) mounts(st *state, v argv) {
	for i, t := range v {
		var source string
		switch {
		case (t.s == "-v" || t.s == "--volume") && i+1 < len(v):
			source, _, _ = strings.Cut(v[i+1].s, ":")
			t = v[i+1]
		case strings.HasPrefix(t.s, "--volume="), strings.HasPrefix(t.s, "-v"):
			source, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(t.s, "--volume="), "-v"), ":")
		case t.s == "--mount" && i+1 < len(v):
			t = v[i+1]
			source = mountSource(t.s)
		case strings.HasPrefix(t.s, "--mount="):
			source = mountSource(strings.TrimPrefix(t.s, "--mount="))
		default:
			continue
		}
		if !t.known {
			a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
			continue
		}
		if !strings.ContainsAny(source, "/.") {
			continue // a volume's name
		}
		for _, tool := range []string{"read_file", "write_file"} {
			a.below(st, text{s: source, known: true}, permission.Value{Tool: tool, DenyOnly: true, Possible: true})
		}
		for _, dir := range st.dirs() {
			a.outside("write_file", dir, source, true)
		}
	}
}

// mountSource returns the folder in "type=bind,src=.,dst=/x".
func mountSource(s string) string {
	for field := range strings.SplitSeq(s, ",") {
		if name, value, _ := strings.Cut(field, "="); name == "source" || name == "src" {
			return value
		}
	}
	return ""
}
