package permission

import (
	"regexp"
	"slices"
	"strings"
)

// escapeFlags are the options by which commands that do other things run a
// program of the caller's choice, or read what to do from standard input.
var escapeFlags = map[string]*regexp.Regexp{
	"ssh":   regexp.MustCompile(`(?i)^-o$|^-o.|proxycommand|localcommand|^-F`),
	"scp":   regexp.MustCompile(`^-o|^-S|^-F`),
	"sftp":  regexp.MustCompile(`^-o|^-S|^-F|^-b`),
	"rsync": regexp.MustCompile(`^-[a-zA-Z]*e$|^-e|^--rsh|^--rsync-path`),
	"tar":   regexp.MustCompile(`^--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume-script|rmt-command)|^-I|^-F`),
	"zip":   regexp.MustCompile(`^-T|^--unzip-command|^-TT`),
	"make":  regexp.MustCompile(`^-f(?:-|/dev/.*|/proc/.*)$|^(?:-|/dev/.*|/proc/.*)$|^--eval|^-E|^(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)[:+?]?=|^--(?:file|makefile)=(?:-|/dev|/proc)`),
	"sort":  regexp.MustCompile(`^--compress-prog`),
	"split": regexp.MustCompile(`^--filter`),
	"go":    regexp.MustCompile(`^--?(?:exec|toolexec|vettool|overlay)(?:=|$)`),
	"man":   regexp.MustCompile(`^-[PH]|^--(?:pager|html)`),
	"nc":    regexp.MustCompile(`^-[a-z]*[ec]`),
	"socat": regexp.MustCompile(`(?i)exec:|system:|shell:`),
	"gcc":   regexp.MustCompile(`^-wrapper|^-B|^-fplugin|^-specs|^@`),
	"cargo": regexp.MustCompile(`^--config`),
	"less":  regexp.MustCompile(`^\+|^-[kK]|^--lesskey`),
	"curl":  regexp.MustCompile(`^-K|^--config`),
	"wget":  regexp.MustCompile(`^--(?:use-askpass|config|execute)|^-e|^-i$|^--input-file`),
	"tmux":  regexp.MustCompile(``), "screen": regexp.MustCompile(``), "at": regexp.MustCompile(``),
	"batch": regexp.MustCompile(``), "crontab": regexp.MustCompile(`^[^-]|^-$|^-[er]`),
}

// escapeAlias are commands that share another's options.
var escapeAlias = map[string]string{"bsdtar": "tar", "gtar": "tar", "gmake": "make", "ncat": "nc", "more": "less",
	"g++": "gcc", "cc": "gcc", "clang": "gcc"}

// escapes reports whether an option makes the command run something else.
func (a *shell) escapes(name string, v argv) bool {
	if to, ok := escapeAlias[name]; ok {
		name = to
	}
	re, ok := escapeFlags[name]
	if !ok {
		return false
	}
	if len(v) == 1 {
		return slices.Contains([]string{"tmux", "screen", "at", "batch", "crontab"}, name)
	}
	return slices.ContainsFunc(v[1:], func(t text) bool { return re.MatchString(t.s) })
}

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
func (a *shell) git(st *state, v argv) {
	st = st.clone()
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
	switch sub {
	case "filter-branch", "mergetool", "difftool", "send-email", "daemon", "instaweb", "citool", "gui", "hook":
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

// program judges the first operand of a command as code.
func (a *shell) program(v argv, dangerous *regexp.Regexp, withArg string) {
	for _, t := range v[1:] {
		if strings.HasPrefix(t.s, "-f") || strings.HasPrefix(t.s, "--file") || strings.HasPrefix(t.s, "-e") || strings.HasPrefix(t.s, "-i") {
			a.unknown(v.line())
			return
		}
	}
	args := operands(v[1:], withArg)
	if len(args) > 0 && (!args[0].known || dangerous.MatchString(args[0].s)) {
		a.unknown(v.line())
	}
}

// tameSed are scripts of sed that only edit and print.
var tameSed = regexp.MustCompile(`^(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\]|\\.)*/I?)(?:,\s*(?:[0-9]+|\$|\+[0-9]+|/(?:[^/\\]|\\.)*/I?))?)?\s*!?\s*(?:[pdqQPDNnhHgGx=]|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiIm0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiIm0-9]*|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiIm0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiIm0-9]*|y/(?:[^/\\]|\\.)*/(?:[^/\\]|\\.)*/)?\s*(?:;|\n|$))+$`)

// sed judges sed's script, and what -i edits.
func (a *shell) sed(st *state, v argv) {
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
