package agentdefs

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
)

// maxHeader bounds the bytes of a file's header, which a YAML reader gets to
// see. The longest of several thousand real ones has 5.8 KB.
const maxHeader = 128 << 10

// header is a file cut into its frontmatter and its body.
type header struct {
	text   string // without fences and common indentation
	line   int    // of text's first line, 1-based
	indent int    // what was cut off each line, in bytes
	body   string // trimmed
	below  int    // the line in which body begins, 1-based

	// root is the fields of a file that is no Markdown; nil: text has them.
	root *yaml.Node

	// guessed says that no closing fence was found: where the body begins, if
	// there is one, is then a matter of judgement.
	guessed bool

	// endless says that there is no fence at all, and the end of the file is
	// that of the header.
	endless bool
}

var (
	dashes    = regexp.MustCompile(`^-{3,}[ \t]*$`)
	codeFence = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})[^`~]*$")
	heading   = regexp.MustCompile(`^#{1,6} `)
	firstKey  = regexp.MustCompile(`^["']?(?i:name|description)["']?[ \t]*:`)
)

// split finds the frontmatter of a file. It takes what people write: blank
// lines and comments first, an indented file, one wrapped in a code fence, a
// fence written twice, too long or forgotten.
func (p *parser) split(text string) (header, bool) {
	lines := strings.Split(text, "\n")
	at := skipPreamble(lines)
	wrapper := ""
	if at < len(lines) {
		if m := codeFence.FindStringSubmatch(lines[at]); m != nil {
			if next := skipBlank(lines, at+1); next < len(lines) && dashes.MatchString(strings.TrimLeft(lines[next], " \t")) {
				wrapper, at = m[1], next
				p.report(codeFrontmatterCodeFence, next, 0, "remove the code fence around the file", "the file is wrapped in a code fence")
			}
		}
	}
	if at == len(lines) {
		p.missing()
		return header{}, false
	}
	indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " \t"))]
	for i := at; i < len(lines) && indent != ""; i++ {
		lines[i] = dedent(lines[i], indent)
	}
	start := at + 1
	switch {
	case dashes.MatchString(lines[at]):
		if len(strings.TrimRight(lines[at], " \t")) > 3 {
			p.report(codeFenceLong, at+1, 0, "write exactly three dashes", "the opening fence has more than three dashes")
		}
		if again := skipBlank(lines, start); again < len(lines) && dashes.MatchString(lines[again]) {
			if key := skipBlank(lines, again+1); key < len(lines) && firstKey.MatchString(lines[key]) {
				p.report(codeFenceDoubled, again+1, 0, "remove one of the two", "the opening fence is written twice")
				start = again + 1
			}
		}
	case firstKey.MatchString(lines[at]):
		p.report(codeFrontmatterUnopened, at+1, 0, "write --- on a line of its own above it", "the frontmatter has no opening fence")
		start = at
	default:
		p.missing()
		return header{}, false
	}
	if at > 0 {
		p.report(codeFrontmatterPreceded, 1, 0, "let the file begin with ---", "the frontmatter does not begin on the first line")
	}
	if indent != "" {
		p.report(codeFrontmatterIndented, at+1, 0, "remove the indentation", "the file is indented")
	}
	h := header{line: start + 1, indent: len(indent)}
	end, rest := p.close(lines, start, start-at, &h)
	h.text = strings.Join(lines[start:end], "\n")
	if len(h.text) > maxHeader {
		p.refuse(codeFileUnreadable, start+1, 0, "move text from the frontmatter to the body", "the frontmatter is longer than %d KiB", maxHeader>>10)
		return header{}, false
	}
	h.body, h.below = body(rest, wrapper), len(lines)-len(rest)+skipBlank(rest, 0)+1
	return h, true
}

// close finds the end of the header that begins at start, below opened lines of
// fences: the index of the line after its last, and the lines of the body.
func (p *parser) close(lines []string, start, opened int, h *header) (end int, rest []string) {
	for i := start; i < len(lines); i++ {
		if dashes.MatchString(lines[i]) {
			if len(strings.TrimRight(lines[i], " \t")) > 3 {
				p.report(codeFenceLong, i+1, 0, "write exactly three dashes", "the closing fence has more than three dashes")
			}
			return i, lines[i+1:]
		}
	}
	h.guessed = true
	p.report(codeFrontmatterUnclosed, start+1, 0, "write --- on a line of its own below it", "the frontmatter has no closing fence")
	for i := start; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "---"):
			return i, append([]string{strings.TrimLeft(lines[i], "-")}, lines[i+1:]...)
		case strings.TrimRight(lines[i], " \t") == "..." && i+1 < len(lines):
			return i, lines[i+1:]
		case heading.MatchString(lines[i]) && hasProse(lines[i+1:]):
			return i, lines[i:]
		}
	}
	if h.endless = opened == 0; h.endless {
		return len(lines), nil
	}
	p.refuseEndless(start + 1)
	return max(start, len(lines)-1), nil // the last line may be cut in its middle
}

// refuseEndless refuses a file that may be the beginning of one: it is still
// being written, or was cut.
func (p *parser) refuseEndless(line int) {
	p.refuse(codePermissionInvalid, line, 0, "write --- on a line of its own below the last field",
		"the frontmatter does not end, so rules may be missing from it, and nothing of this file is served")
}

// withoutTools is the permission of an agent in a file that is all frontmatter,
// without a fence, its text in a field. It can be told from the beginning of a
// longer file no more than any other, so whatever rules may be missing, none is
// needed.
func (p *parser) withoutTools(d *Definition, line int) *permission.Ruleset {
	p.report(codeFrontmatterUnclosed, line, 0, "write --- above the first field, and --- below the last",
		"nothing says where the file ends, so rules may be missing from it, and its agent may use no tool")
	rules := slices.Collect(d.Permission.Rules())
	deny := permission.Rule{Tool: anything, Pattern: anything, Action: permission.Deny, Source: permission.Source{File: p.file, Line: line}}
	at := len(rules)
	if at > 0 && rules[at-1].Action == permission.Deny {
		at-- // the last rule, task: deny, stays the last
	}
	set, err := permission.NewRuleset(slices.Insert(rules, at, deny)...)
	if err != nil {
		p.refusePermission(&yaml.Node{Line: line}, err)
		return nil
	}
	return set
}

// hasProse reports whether lines hold one of text, unlike a comment, a field, an
// item of a list or the beginning of any. A heading with nothing else below it
// may as well be a comment of YAML, with a rule to follow.
func hasProse(lines []string) bool {
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "", strings.ContainsAny(line[:1], " \t#-"), keyLine.MatchString(line):
		case i == len(lines)-1 && !strings.ContainsAny(line, " \t.!?"): // a field cut in its name
		default:
			return true
		}
	}
	return false
}

func (p *parser) missing() {
	if !quietWithoutFrontmatter(p.file) {
		p.report(codeFrontmatterMissing, 1, 0, "begin it with ---, name: and description: lines, and ---, or move it out of the folder", "the file has no frontmatter, so it is no agent")
	}
}

// body returns the text of the body; wrapper is the code fence around the whole
// file, empty for none.
func body(lines []string, wrapper string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if wrapper == "" {
		return text
	}
	cut, last := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		cut, last = text[:i], text[i+1:]
	}
	if last = strings.TrimSpace(last); strings.HasPrefix(last, wrapper) && strings.Trim(last, wrapper[:1]) == "" {
		return strings.TrimSpace(cut)
	}
	return text
}

// skipPreamble returns the index of the first line that is neither blank nor
// part of an HTML comment.
func skipPreamble(lines []string) int {
	i := skipBlank(lines, 0)
	for i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), "<!--") {
		end := i
		for end < len(lines) && !strings.Contains(lines[end], "-->") {
			end++
		}
		if end == len(lines) {
			return end
		}
		i = skipBlank(lines, end+1)
	}
	return i
}

func skipBlank(lines []string, i int) int {
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	return i
}

// dedent cuts indent off line, or what line has of it.
func dedent(line, indent string) string {
	if cut, ok := strings.CutPrefix(line, indent); ok {
		return cut
	}
	n := 0
	for n < len(line) && n < len(indent) && line[n] == indent[n] {
		n++
	}
	return line[n:]
}
