package hookconfig

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/internal/boundedfile"
)

// maxScripts bounds the files of a hook's scripts.
const maxScripts = 200

// Scripts returns the files below root that the command names, sorted. It leaves out files that
// the command only writes to, such as a log. A name counts from the top, from the hook's folder and from
// every folder that the command changes to. "*.sh", "-m tools.guard" and a name without its ending count, too.
func (h *Hook) Scripts(root string) []string {
	words, folders := h.words(root)
	bases := []string{root, filepath.Join(root, h.Cwd)}
	for _, dir := range folders {
		for _, base := range bases[:2] {
			bases = append(bases, absolute(base, dir))
		}
	}
	var found []string
	for _, word := range words {
		for _, base := range bases {
			found = append(found, filesOf(root, absolute(base, word))...)
		}
		if module := strings.ReplaceAll(word, ".", "/"); modular.MatchString(word) {
			found = append(found, filesOf(root, filepath.Join(root, module+".py"))...)
			found = append(found, filesOf(root, filepath.Join(root, module, "__main__.py"))...)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), maxScripts)]
}

// modular are the names of modules in packages.
var modular = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(base, name)
}

// filesOf returns the files below root that a path means: itself, or those with an ending that it
// lacks. Stars in it are those of a shell.
func filesOf(root, path string) (found []string) {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") || strings.Trim(rel, "*/") == "" {
		return nil
	}
	names := []string{path}
	if strings.ContainsAny(path, "*?[") {
		names, _ = filepath.Glob(path) // a bad pattern is none
	} else if filepath.Ext(path) == "" {
		more, _ := filepath.Glob(quoted.Replace(path) + ".*")
		names = append(names, more...)
	}
	for _, name := range names[:min(len(names), maxScripts)] {
		if f, err := boundedfile.Open(name); err == nil {
			f.Close()
			found = append(found, name)
		}
	}
	return found
}

var quoted = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// top are the names of variables that are the workspace.
var top = []string{"CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "PWD"}

// words returns the words of the command, and the folders that it changes to.
func (h *Hook) words(root string) (words, folders []string) {
	words = slices.Clone(h.Args)
	if h.Exec {
		return append(words, h.Command), nil
	}
	parsed, err := syntax.NewParser().Parse(strings.NewReader(h.Command), "")
	if err != nil {
		return append(words, split(h.Command)...), nil
	}
	written := map[*syntax.Word]bool{}
	syntax.Walk(parsed, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
				written[n.Word] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) < 2 {
				break
			}
			switch n.Args[0].Lit() {
			case "tee":
				for _, arg := range n.Args[1:] {
					written[arg] = true
				}
			case "cd", "pushd":
				folders = append(folders, text(n.Args[len(n.Args)-1].Parts, root))
			}
		case *syntax.Word:
			if !written[n] {
				words = append(append(words, text(n.Parts, root)), split(text(n.Parts, root))...)
			}
		}
		return true
	})
	return words, folders
}

// split returns the words of a text that may be a command itself, as of sh -c.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>=`\"'", r) })
}

// text is a word as the shell makes it. What is known only as the command runs is a star.
func text(parts []syntax.WordPart, root string) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(backslashed.ReplaceAllString(part.Value, "$1"))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(text(part.Parts, root))
		case *syntax.ParamExp:
			if part.Param != nil && slices.Contains(top, part.Param.Value) {
				b.WriteString(root)
			} else {
				b.WriteString("*")
			}
		case *syntax.CmdSubst:
			if toplevel(part) {
				b.WriteString(root)
			} else {
				b.WriteString("*")
			}
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

var backslashed = regexp.MustCompile(`\\(.)`)

// toplevel reports whether a substitution is $(git rev-parse --show-toplevel), or $(pwd).
func toplevel(n *syntax.CmdSubst) bool {
	if len(n.Stmts) != 1 {
		return false
	}
	call, ok := n.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	var words []string
	for _, arg := range call.Args {
		words = append(words, arg.Lit())
	}
	line := strings.Join(words, " ")
	return line == "git rev-parse --show-toplevel" || line == "pwd"
}
