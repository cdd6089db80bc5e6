package shell

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

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

// known reports whether all words are certain.
func known(v argv) bool {
	return !slices.ContainsFunc(v, func(t text) bool { return !t.known })
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
