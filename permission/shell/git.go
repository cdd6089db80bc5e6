package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/gitindex"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/internal/program"
)

// git follows git's own ways to run programs, and looks at what its object
// store may show. No sandbox hides the files in it.
func (a *analysis) git(st *state, p *program.Program, v argv) {
	st = st.clone()
	rest := v[1:]
	ordinary := true // the options before the subcommand change neither the repository nor its work tree
	for len(rest) > 1 && strings.HasPrefix(rest[0].s, "-") {
		s, next := rest[0].s, rest[1]
		rest = rest[1:]
		switch {
		case s == "-C":
			st.cd(next)
		case s == "-c" && next.known && p.TameSetting(next.s):
		case s == "--namespace", s == "--super-prefix":
			ordinary = false
		case strings.HasPrefix(s, "-c"):
			a.unknown(v.line(), "the setting may run a program")
		default:
			ordinary = ordinary && slices.Contains(quietOptions, s)
			continue
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0].s, "-") {
		return
	}
	if !rest[0].known {
		a.unknown(v.line(), "the subcommand is not certain: write it out")
		return
	}
	sub, args := rest[0].s, rest[1:]
	if sub == "config" {
		names := append(rest.operands(p), text{}, text{})
		if names[0].s == "set" || names[0].s == "edit" {
			names = append(names[1:], literal(" "))
		}
		if names[1].s != "" && names[0].s != "get" && !p.TameSetting(names[0].s) ||
			slices.ContainsFunc(args, func(t text) bool { return !t.known || t.s == "-e" || program.Option(t.s, "--edit", "--blob") }) {
			a.unknown(v.line(), "the setting may run a program")
		}
	}
	a.gitUse.changes = a.gitUse.changes || !p.KeepsIndex(sub, args.certain())
	if p.PrintsNone(sub, args.certain()) {
		return
	}
	changed := sub == "diff" && ordinary && workTree(args)
	a.stored(st, sub, args, changed)
	if changed {
		a.gitUse.diffs = append(a.gitUse.diffs, func() { a.stored(st, sub, args, false) })
	}
}

// quietOptions are options of git itself by which it neither starts a pager nor takes locks.
var quietOptions = []string{"--no-pager", "-P", "--no-optional-locks"}

// gitUse is what a command line does with git.
type gitUse struct {
	changes bool     // the index may get files that are not in the work tree
	diffs   []func() // add what each git diff of the work tree may print then
}

// end adds what git may print at the end of an analysis.
func (u *gitUse) end() {
	if u.changes {
		for _, diff := range u.diffs {
			diff()
		}
	}
}

// plainOption is an option of git diff that chooses neither commits nor other files.
var plainOption = regexp.MustCompile(`^(?:-[pswbRz]|-U[0-9]*|--(?:stat|shortstat|numstat|dirstat|summary|name-only|name-status|patch|no-patch|raw|patch-with-stat|unified=[0-9]+|` +
	`color|no-color|color-words|word-diff|minimal|patience|histogram|ignore-all-space|ignore-space-change|ignore-blank-lines|exit-code|quiet|check|compact-summary|no-ext-diff|no-textconv|no-renames|find-renames))(?:=[a-z0-9,-]+)?$`)

// workTree reports whether git diff with these words compares the files of the work tree with
// the index, and nothing else.
func workTree(args argv) bool {
	for _, t := range args {
		switch {
		case !t.known:
			return false
		case t.s == "--":
			return true // files follow
		case !plainOption.MatchString(t.s):
			return false
		}
	}
	return true
}

// hideable reports whether path is a regular file of the workspace root, of the repository that the
// workspace is in.
func hideable(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return false
		}
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// commit is a revision that cannot be the id of a file; inCommit a file as a
// commit or the index has it: "HEAD:x", ":0:x".
var (
	commit   = regexp.MustCompile(`^(?:HEAD|@)(?:[~^][0-9]*)*$`)
	inCommit = regexp.MustCompile(`^(?:(?:HEAD|@)(?:[~^][0-9]*)*|[A-Za-z0-9_./-]*|:[0-3]):([^:(!^/][^*?\[]*)$`)
)

// stored adds the tracked files that git may print or copy: all, or the ones
// that words limit it to. changed says that it prints only changes of the work tree. A file that a
// sandbox hides has none.
func (a *analysis) stored(st *state, sub string, args argv, changed bool) {
	add := func(path string, certainty permission.Certainty) {
		v := a.ws.FileValue(readFile, path)
		v.Kind, v.Certainty = permission.Mentioned, certainty
		a.add(v)
	}
	top, files, err := gitindex.Files(st.cwd)
	if st.cwd == "" || err != nil || !a.look(1+len(files)/100) {
		a.add(permission.Value{Tool: readFile, Kind: permission.Spelling, Certainty: permission.Unknown, Why: "which files git tracks cannot be told"})
		add(a.ws.Root, permission.Possible)
		return
	}
	var only []string
	limited := len(args) > 0
	paths := sub == "mv" || sub == "blame" || sub == "annotate" // its words are
	for i, t := range args {
		m := inCommit.FindStringSubmatch(t.s)
		switch {
		case !t.known || program.Option(t.s, "--full-diff"):
			limited = false
		case t.s == "--":
			limited = limited && i+1 < len(args)
			paths = true
		case strings.HasPrefix(t.s, "-"):
		case paths:
			limited = limited && !strings.ContainsAny(t.s, "*?[:")
			only = append(only, filepath.Join(st.cwd, t.s))
		case m != nil:
			path := filepath.Join(top, m[1])
			if strings.HasPrefix(m[1], "./") || strings.HasPrefix(m[1], "../") {
				path = filepath.Join(st.cwd, m[1])
			}
			only = append(only, path)
			add(path, permission.Certain)
		case sub != "diff" && sub != "log" && !commit.MatchString(t.s):
			limited = false // it may be the id of any file
		}
	}
	if changed {
		a.anyFile()
	}
	for _, file := range files {
		path := filepath.Join(top, filepath.FromSlash(file))
		if changed && hideable(a.ws.Root, path) {
			continue
		}
		if !limited || len(only) == 0 || slices.ContainsFunc(only, func(p string) bool { return path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") }) {
			add(path, permission.Possible)
		}
	}
}
