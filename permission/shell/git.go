package shell

import (
	"os"
	"path/filepath"
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

// puts adds a file that git writes what it shows to, as a redirection would.
func (a *analysis) puts(st *state, t text) {
	a.writes(st, t)
	for _, dir := range st.dirs() {
		if t.known && t.s != "" && (dir != "" || rooted(t.s)) && !freeDevice.MatchString(t.s) {
			a.outside("write_file", dir, t.s, true)
		}
	}
}

// Subcommands of git by what they do to files that no word names.
var (
	// gitShows print files, or put them elsewhere, as far as they differ.
	gitShows = wordSet(`diff show whatchanged archive bundle fast-export format-patch diff-tree diff-index diff-files range-diff clone worktree submodule subtree send-email`)

	// gitChanges change what the ones above would show.
	gitChanges = wordSet(`add stage stash commit read-tree update-index reset checkout switch merge rebase pull cherry-pick revert am apply`)

	gitPatch = regexp.MustCompile(`^(?:-p|-u|--patch|--patch-with-stat|-U.*|--unified.*|-c|--cc|-m|--remerge-diff|-W|--function-context|-G.*|--binary|--word-diff.*|--color-words.*|-L.*)$`)
	gitAll   = regexp.MustCompile(`^(?:-[a-zA-Z]*[ua][a-zA-Z]*|--all|--include-untracked)$`)
	gitForce = regexp.MustCompile(`^(?:-[a-zA-Z]*f[a-zA-Z]*|--force)$`)
)

// gitFiles adds the files that git reads or writes as part of a tree.
func (a *analysis) gitFiles(st *state, sub string, v argv) {
	reads := permission.Value{Tool: "read_file", DenyOnly: true, Possible: true}
	has := func(re *regexp.Regexp) bool {
		return slices.ContainsFunc(v, func(t text) bool { return !t.known || re.MatchString(t.s) })
	}
	word := func(s string) bool { return slices.ContainsFunc(v, func(t text) bool { return t.s == s }) }
	args := operands(v, "")
	switch {
	case sub == "diff" && word("--no-index"):
		for _, t := range args {
			a.below(st, t, permission.Value{Tool: "read_file", DenyOnly: true})
		}
	case sub == "cat-file" && slices.ContainsFunc(v, func(t text) bool { return strings.HasPrefix(t.s, "--batch") }),
		sub == "hash-object" && word("--stdin-paths"):
		a.add(permission.Value{Tool: "read_file", DenyOnly: true, Unknown: true})
	case gitShows[sub], sub == "log" && has(gitPatch), sub == "stash" && word("show"):
		a.tracked(st, v, reads)
	case sub == "stash" && has(gitAll):
		a.workTree(st, reads)
	case (sub == "add" || sub == "stage") && has(gitForce):
		for _, t := range args {
			a.below(st, t, reads)
		}
		if len(args) == 0 {
			a.workTree(st, reads)
		}
	case stagedOnly(sub, v):
	case sub == "rm", sub == "mv", sub == "restore":
		a.replaces(st, append(argv{{s: "--", known: true}}, args...))
	case sub == "reset" && word("--hard"), sub == "checkout-index", sub == "read-tree",
		sub == "checkout" && (word("--") || slices.ContainsFunc(args, func(t text) bool { return a.isFolder(st, t) })):
		a.replaces(st, v)
	case sub == "clean" && !word("-n") && !word("--dry-run"):
		a.below(st, text{s: ".", known: true}, permission.Value{Tool: "write_file", DenyOnly: true, Possible: true})
	}
	if st.gitChanged && (gitShows[sub] || sub == "log" || sub == "stash") {
		a.workTree(st, reads) // what has been added may be any file
	}
	st.gitChanged = st.gitChanged || gitChanges[sub]
	if to, ok := gitTarget(sub, args); ok {
		for _, dir := range st.dirs() {
			if to.known && (dir != "" || rooted(to.s)) {
				a.outside("write_file", dir, to.s, true)
			} else {
				a.add(permission.Value{Tool: "write_file", DenyOnly: true, Unknown: true})
			}
		}
	}
}

// replaces adds the tracked files that git writes or removes.
func (a *analysis) replaces(st *state, v argv) {
	a.tracked(st, v, permission.Value{Tool: "write_file", DenyOnly: true, Possible: true})
	a.tracked(st, v, permission.Value{Tool: "edit_file", DenyOnly: true, Possible: true})
}

// stagedOnly reports whether a command of git changes the index and no file.
func stagedOnly(sub string, v argv) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(v, func(t text) bool { return slices.Contains(words, t.s) })
	}
	switch sub {
	case "restore":
		return has("--staged", "-S") && !slices.ContainsFunc(v, func(t text) bool {
			return !t.known || strings.HasPrefix(t.s, "--w") || strings.HasPrefix(t.s, "-") && !strings.HasPrefix(t.s, "--") && strings.Contains(t.s, "W")
		})
	case "apply":
		return has("--check", "--stat", "--numstat", "--summary") && !has("--apply")
	}
	return false
}

// gitTarget returns the folder that a subcommand makes.
func gitTarget(sub string, args argv) (to text, ok bool) {
	switch {
	case sub == "clone" && len(args) > 1:
		return args[len(args)-1], true
	case sub == "init" && len(args) > 0:
		return args[0], true
	case sub == "worktree" && len(args) > 1 && args[0].s == "add":
		for _, t := range args[1:] {
			if strings.ContainsAny(t.s, "/.") || len(args) == 2 {
				return t, true
			}
		}
		return args[1], true
	case sub == "submodule" && len(args) > 2 && args[0].s == "add":
		return args[len(args)-1], true
	}
	return text{}, false
}

// below adds what is below a folder that a word names, and the file if it is
// one.
func (a *analysis) below(st *state, t text, like permission.Value) {
	for _, dir := range st.dirs() {
		if !t.known || t.glob || dir == "" && !rooted(t.s) {
			a.add(permission.Value{Tool: like.Tool, DenyOnly: true, Unknown: true})
			continue
		}
		path := t.s
		if !rooted(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Stat(path); err == nil && a.look(1) {
			a.tree(filepath.Clean(path), like)
		}
	}
}

// workTree adds all that is in git's work tree.
func (a *analysis) workTree(st *state, like permission.Value) {
	for _, dir := range st.dirs() {
		if top, _, err := gitFolder(dir); err == nil && top != "" && dir != "" {
			dir = top
		}
		a.below(&state{cwd: []string{dir}}, text{s: ".", known: true}, like)
	}
}

// tracked adds the files that git tracks: those below the folders, and the
// files, that are named, or all.
func (a *analysis) tracked(st *state, v argv, like permission.Value) {
	unknown := permission.Value{Tool: like.Tool, DenyOnly: true, Unknown: true}
	for _, dir := range st.dirs() {
		if dir == "" {
			a.add(unknown)
			continue
		}
		top, files, err := trackedFiles(dir)
		if err != nil || !a.look(1+len(files)/100) {
			a.add(unknown)
			continue
		}
		only, ok := a.pathspecs(dir, v)
		for _, file := range files {
			path := filepath.Join(top, filepath.FromSlash(file))
			if ok && !slices.ContainsFunc(only, func(p string) bool {
				return within(p, path)
			}) {
				continue
			}
			a.add(a.like(like, path))
		}
	}
}

// pathspecs returns the folders and files that words behind "--" limit git to;
// ok is false where there are none, or some that mean more than a name.
func (a *analysis) pathspecs(dir string, v argv) (only []string, ok bool) {
	i := slices.IndexFunc(v, func(t text) bool { return t.s == "--" })
	if i < 0 || i+1 == len(v) {
		return nil, false
	}
	for _, t := range v[i+1:] {
		if !t.known || t.glob || strings.ContainsAny(t.s, "*?[:") {
			return nil, false
		}
		path := t.s
		if !rooted(path) {
			path = filepath.Join(dir, path)
		}
		only = append(only, filepath.Clean(path))
	}
	return only, true
}
