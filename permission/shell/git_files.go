package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

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
