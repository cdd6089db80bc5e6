package access

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// quoteButWild is a pattern in which only the stars and question marks of s are
// special, and the home folder at its front.
func quoteButWild(s string) string {
	front := ""
	for _, home := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(s, home); ok {
			front, s = home, rest
		}
	}
	var b strings.Builder
	b.WriteString(front)
	for s != "" {
		i := strings.IndexAny(s, "*?")
		if i < 0 {
			i = len(s)
		}
		b.WriteString(glob.Quote(s[:i]))
		if i < len(s) {
			b.WriteByte(s[i])
			i++
		}
		s = s[i:]
	}
	return b.String()
}

// literal returns value, what a permission block says of a tool, with those
// patterns that deny and are not globs taken as plain text. In a file of
// opencode every pattern is such a text.
func (p *Reader) literal(value *yaml.Node) *yaml.Node {
	if value.Kind != yaml.MappingNode {
		return value
	}
	out := *value
	out.Content = slices.Clone(value.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		pattern, action := out.Content[i], out.Content[i+1]
		if pattern.Kind != yaml.ScalarNode {
			continue
		}
		text := *pattern
		text.Value = quoteButWild(pattern.Value)
		if p.Dialect.PlainPatterns {
			out.Content[i] = &text
			continue
		}
		if _, err := glob.Compile(pattern.Value); err == nil || action.Kind != yaml.ScalarNode || action.Value != permission.Deny.String() {
			continue
		}
		out.Content[i] = &text
		p.Report(diag.PatternLiteral, pattern.Line, pattern.Column, "put a backslash before each character that means itself", "the pattern %q is no glob; what it says as a plain text is denied", spelling.Short(pattern.Value))
	}
	return &out
}

// alsoLiteral returns rules that deny r's pattern as plain text, where only
// stars and question marks are special: "app/(auth)/**" is a group to a glob,
// and a folder to many an author.
func alsoLiteral(r permission.Rule) Clause {
	if r.Action != permission.Deny || !strings.ContainsAny(r.Pattern, "([") || strings.Contains(r.Pattern, `\`) {
		return nil
	}
	if quoted := quoteButWild(r.Pattern); quoted != r.Pattern {
		r.Pattern = quoted
		return Clause{r}
	}
	return nil
}
