package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"

	"github.com/agentworker/worker/permission/internal/program"
)

// AlwaysPatterns returns the patterns that answering "always" to a call of tool
// adds, without repetition, in the order of the values. For a command of the
// shell they cover the command with whatever arguments: "git push *" for "git
// push origin main"; one whose arguments are programs, such as "sudo ls", or
// that is destructive or reaches far, such as "rm x", is covered as it stands
// and no more. For all other values they match only that value. Unknown values,
// values of other tools and values that can only deny have none.
func AlwaysPatterns(tool string, values []permission.Value) []string {
	var patterns []string
	for _, v := range values {
		if v.Tool == tool && !v.OnlyDenies() && v.Certainty != permission.Unknown && v.Text != "" {
			patterns = appendNew(patterns, cmp.Or(v.Always, glob.Quote(v.Text)))
		}
	}
	return patterns
}

// alwaysPattern returns the pattern for a command of the shell.
func alwaysPattern(p *program.Program, v argv) string {
	line := glob.Quote(v.line())
	var words []string // except for substitutions
	for _, t := range v {
		if !t.subst {
			words = append(words, t.s)
		}
	}
	n := p.Prefix(words)
	head := quoteCommand(words[:n])
	switch {
	case p.RunsAnything(words) || !known(v[:n]):
		return line
	case n == len(words):
		return head
	case slices.ContainsFunc(words[1:n], func(w string) bool { return strings.HasPrefix(w, "-") }):
		return line // "git -C *" would be any command of git
	}
	return head + " *"
}

// quoteCommand quotes words for a pattern, where a "./" in front may stay.
func quoteCommand(words []string) string {
	line := strings.Join(words, " ")
	if rest, ok := strings.CutPrefix(line, "./"); ok && rest != "" {
		return "./" + glob.Quote(rest)
	}
	return glob.Quote(line)
}
