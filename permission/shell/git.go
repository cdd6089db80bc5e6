package shell

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// harmlessConfig are the settings of git that run nothing and lead nowhere.
var harmlessConfig = regexp.MustCompile(`(?i)^(?:color\.[a-z.]+|user\.(?:name|email)|core\.(?:quotepath|autocrlf|safecrlf|abbrev|filemode)|advice\.[a-z]+|init\.defaultbranch|log\.[a-z]+|column\.[a-z]+|commit\.gpgsign|tag\.gpgsign|diff\.(?:renames|context|algorithm|noprefix|mnemonicprefix)|merge\.conflictstyle|pull\.(?:rebase|ff)|push\.default|fetch\.prune|gc\.auto|status\.[a-z]+|versionsort\.[a-z]+|safe\.directory)(?:=|$)`)

// gitPrograms are the long options by which subcommands of git run a program
// or take settings.
var gitPrograms = map[string][]string{
	"push": {"--exec", "--receive-pack"}, "ls-remote": {"--exec", "--upload-pack"}, "fetch": {"--upload-pack"}, "pull": {"--upload-pack"},
	"clone": {"--upload-pack", "--config", "--template"}, "init": {"--template"}, "archive": {"--exec"},
	"rebase": {"--exec"}, "difftool": {"--extcmd"}, "grep": {"--open-files-in-pager"},
}

// gitEscape reports whether s is such an option, which may be abbreviated.
func gitEscape(sub, s string) bool {
	name, _, _ := strings.Cut(s, "=")
	return len(name) > 2 && slices.ContainsFunc(gitPrograms[sub], func(option string) bool {
		return strings.HasPrefix(option, name) || strings.HasPrefix(name, option)
	})
}

// git follows git's own ways to run programs.
func (a *analysis) git(st *state, v argv) {
	before := st
	st = st.clone()
	defer func() { before.gitChanged = st.gitChanged }()
	rest := v[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].s, "-") {
		s := rest[0].s
		switch {
		case s == "-c":
			if len(rest) < 2 || !rest[1].known || !harmlessConfig.MatchString(rest[1].s) {
				a.unknown(v.line())
			}
			rest = rest[1:]
		case strings.HasPrefix(s, "-c"), strings.HasPrefix(s, "--config-env"), strings.HasPrefix(s, "--exec-path="),
			strings.HasPrefix(s, "--git-dir"), strings.HasPrefix(s, "--work-tree"):
			a.unknown(v.line())
		case s == "-C" && len(rest) > 1:
			rest = rest[1:]
			a.cd(st, rest[0])
		case s == "--namespace" || s == "--super-prefix":
			rest = rest[1:]
		}
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return
	}
	sub := rest[0].s
	if !rest[0].known || rest[0].glob {
		a.unknown(v.line())
		return
	}
	for i, t := range rest[1:] {
		s := t.s
		next := func() text {
			if i+2 < len(rest) {
				return rest[i+2]
			}
			return text{known: true}
		}
		switch {
		case sub == "rebase" && (s == "-x" || s == "--exec"):
			a.nested(st, next())
		case gitEscape(sub, s), strings.HasPrefix(s, "ext::"),
			strings.HasPrefix(s, "--upload-pack"), strings.HasPrefix(s, "--receive-pack"), strings.HasPrefix(s, "--exec="):
			a.unknown(v.line())
		case sub == "rebase" && strings.HasPrefix(s, "-x"):
			a.nested(st, text{s: s[2:], known: t.known})
		case sub == "difftool" && (strings.HasPrefix(s, "-x") || strings.HasPrefix(s, "--extcmd")),
			sub == "grep" && (strings.HasPrefix(s, "-O") || strings.HasPrefix(s, "--open-files-in-pager")),
			sub == "clone" && (strings.HasPrefix(s, "-c") || strings.HasPrefix(s, "--config") || strings.HasPrefix(s, "-u") || strings.HasPrefix(s, "--template")):
			a.unknown(v.line())
		case sub == "bisect" && s == "run" && i == 0:
			a.inner(st, rest[2:])
		case sub == "submodule" && s == "foreach":
			args := rest[i+2:]
			for len(args) > 0 && strings.HasPrefix(args[0].s, "-") {
				args = args[1:]
			}
			a.joined(st, args)
			return
		}
	}
	a.gitFiles(st, sub, rest[1:])
	switch sub {
	case "filter-branch", "mergetool", "difftool", "send-email", "daemon", "instaweb", "citool", "gui", "hook",
		"shell", "credential", "maintenance", "web--browse":
		a.unknown(v.line())
	case "config":
		args := operands(rest[1:], "ft")
		if len(args) > 0 && (args[0].s == "set" || args[0].s == "edit") {
			args = args[1:]
			if len(args) == 0 {
				a.unknown(v.line())
			}
		}
		if len(args) > 1 && !harmlessConfig.MatchString(args[0].s) || slices.ContainsFunc(rest, func(t text) bool { return t.s == "-e" || t.s == "--edit" || !t.known }) {
			a.unknown(v.line())
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

// puts adds a file that git writes what it shows to, as a redirection would.
func (a *analysis) puts(st *state, t text) {
	a.writes(st, t)
	for _, dir := range st.dirs() {
		if t.known && t.s != "" && (dir != "" || rooted(t.s)) && !freeDevice.MatchString(t.s) {
			a.outside("write_file", dir, t.s, true)
		}
	}
}
