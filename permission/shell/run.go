package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"

	"github.com/agentworker/worker/permission/internal/program"
)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// Values of [program.Program.Does] that are asked about outside of follow.
const (
	doesEval = "eval"
	doesGit  = "git"
)

// follow looks at what a command runs, and at what it does to the shell.
func (a *analysis) follow(st *state, p *program.Program, v argv) {
	line := v.line()
	a.scripts.note(st.cwd, p, v)
	runs := p.RunsCode(v.words())
	switch {
	case runs:
		a.unknown(line, "a word of it names a program or is code")
		a.mayRun(v, permission.Certain)
	case p.Does == "unknown":
		a.unknown(line, "what it runs is not certain")
		a.mayRun(v, permission.Certain)
	case p.Does == program.DoesProject:
		a.mayRun(v, permission.Certain)
	}
	if why := p.RunsInline(v.certain()); why != "" {
		a.unknown(line, why)
	}
	switch p.Does {
	case "command":
		if w := v.word(1); program.Option(w, p.Column(program.Asks)...) {
			return // asks only
		}
		rest := v[p.SkipOptions(v.words()):]
		for p.Is(program.Assigns) && len(rest) > 0 && strings.Contains(rest[0].s, "=") {
			name, value, _ := strings.Cut(rest[0].s, "=")
			a.given(name, text{s: value, known: rest[0].known}, rest[0].s)
			rest = rest[1:]
		}
		a.inner(st, rest)
	case "keyword": // no program; yet what follows must not hide
		a.inner(st, v[1:])
	case "shell":
		a.shell(st, p, v)
	case "find":
		a.find(st, v)
	case "xargs":
		rest := v[p.SkipOptions(v.words()):]
		item := "{}"
		for i, t := range v[1 : len(v)-len(rest)] {
			if t.s == "-I" || t.s == "-J" {
				item = v[min(i+2, len(v)-1)].s
			} else if len(t.s) > 2 && strings.Contains("-I-J-i", t.s[:2]) {
				item = t.s[2:]
			} else if after, ok := strings.CutPrefix(t.s, "--replace="); ok {
				item = after
			}
		}
		if len(rest) > 0 {
			cmd, _ := replaced(rest, item)
			a.inner(st.clone(), append(cmd, text{s: "{}", split: true}))
			a.mention(rest)
		}
	case doesGit:
		a.git(st, p, v)
	default:
		if !a.builtin(st, p, v) && !runs && p.Does == "" && !p.Is(program.Plain) && !p.Is(program.Files) {
			a.mayRun(v, permission.Possible)
		}
	}
}

// shell follows sh and its like: a script given with -c, or one in a file; else
// one that cannot be known.
func (a *analysis) shell(st *state, p *program.Program, v argv) {
	if p.Is(program.Other) {
		a.unknown(v.line(), "only sh and bash are known: use one of them")
	}
	for i := 1; i < len(v); i++ {
		s := v.word(i)
		switch {
		case s == "--version" || s == "--help":
			return
		case s == "-o" || s == "+o":
			i++
		case s == "--norc" || s == "--noprofile" || s == "--posix" || s == "--login" || s == "--":
		case strings.HasPrefix(s, "--") || strings.HasPrefix(s, "-O") || strings.HasPrefix(s, "+O"):
			a.unknown(v.line(), "the option "+s+" changes what its script means")
			i++
		case len(s) > 1 && (s[0] == '-' || s[0] == '+'):
			if s[0] == '-' && strings.Contains(s, "c") {
				for i++; i < len(v) && len(v[i].s) > 1 && (v[i].s[0] == '-' || v[i].s[0] == '+'); i++ {
				}
				if i < len(v) {
					plainer := a.plainer
					a.plainer = p.Is(program.Posix)
					a.joined(st.clone(), v[i:i+1])
					a.plainer = plainer
					return
				}
			}
		case s == "":
			a.unknown(v.line(), "the script is not certain")
			return
		default:
			a.scriptFile(st, p, v, s)
			return
		}
	}
	a.unknown(v.line(), "the shell reads its input: give the script with -c")
}

// scriptFile looks at a script in a file of the workspace: what rules deny of its
// commands refuses the call, as if they stood in the line. No value quotes the file.
func (a *analysis) scriptFile(st *state, p *program.Program, v argv, path string) {
	a.scripts.add(st.cwd, path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(st.cwd, path)
	}
	var data string
	if st.cwd != "" && len(st.written) == 0 && a.look(10) {
		data = fileBelow(a.ws.Root, path)
	}
	if data == "" {
		a.unknown(v.line(), "the script cannot be read beforehand: run one of the workspace, by a call of its own")
		return
	}
	reads, err := a.ws.PathValues(toolcatalog.ReadFile, path)
	if err != nil {
		a.unknown(v.line(), "the script cannot be read beforehand: "+err.Error())
		return
	}
	mark := len(a.values)
	a.elsewhere(data, p.Is(program.Posix))
	for _, found := range a.values[mark:] {
		delete(a.seen, found)
	}
	copy(a.values[mark:], permission.InScript(path, reads, a.values[mark:]))
}

// fileBelow returns what a small regular file below dir holds. It is "" for any other,
// also for one that a link leads out to: the session may not read that.
func fileBelow(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	if info, err := root.Stat(rel); err != nil || !info.Mode().IsRegular() || info.Size() > maxCommand {
		return ""
	}
	data, err := root.ReadFile(rel)
	if err != nil || len(data) > maxCommand {
		return ""
	}
	return string(data)
}

// find follows the commands that find runs for what it finds.
func (a *analysis) find(st *state, v argv) {
	for i := 1; i < len(v); i++ {
		switch v[i].s {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			from := i + 1
			for i++; i < len(v) && v[i].s != ";" && !(v[i].s == "+" && v[i-1].s == "{}"); i++ {
			}
			cmd, found := replaced(v[from:min(i, len(v))], "{}")
			if option := v[from-1].s; !found && (len(option) == 2 || option[1] == '-') { // as fd does, at the end
				cmd = append(cmd, text{s: "{}", split: true})
			}
			a.inner(st.clone(), cmd)
		}
	}
}

// replaced returns v, of which the words that hold the item are known up to
// there.
func replaced(v argv, item string) (out argv, found bool) {
	for _, t := range v {
		if at := strings.Index(t.s, item); at >= 0 && t.known {
			t.known, t.prefix, found = false, at, true
		}
		out = append(out, t)
	}
	return out, found
}
