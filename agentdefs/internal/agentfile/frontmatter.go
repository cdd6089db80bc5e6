package agentfile

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// maxHeader bounds the bytes of a file's header, which a YAML reader gets to
// see. The longest of several thousand real ones has 5.8 KB.
const maxHeader = 128 << 10

// Header is a file cut into its frontmatter and its body.
type Header struct {
	Line  int    // where the fields begin, 1-based
	Body  string // trimmed
	Below int    // the line in which Body begins, 1-based

	// Root holds the fields of a file that is not Markdown; else it is nil.
	Root *yaml.Node

	// Guessed says that no closing fence was found, so that the place where the
	// body begins is a guess.
	Guessed bool

	// Endless says that there is no fence at all: the header ends where the file
	// does.
	Endless bool

	text   string // the fields, without fences and common indentation
	indent int    // what was cut off each line, in bytes
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
func (p *Reader) split(text string) (Header, bool) {
	lines := strings.Split(text, "\n")
	at := skipPreamble(lines)
	wrapper := ""
	if at < len(lines) {
		if m := codeFence.FindStringSubmatch(lines[at]); m != nil {
			if next := skipBlank(lines, at+1); next < len(lines) && dashes.MatchString(strings.TrimLeft(lines[next], " \t")) {
				wrapper, at = m[1], next
				p.Report(diag.FrontmatterCodeFence, next, 0, "remove the code fence around the file", "the file is wrapped in a code fence")
			}
		}
	}
	if at == len(lines) {
		p.missing()
		return Header{}, false
	}
	indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " \t"))]
	for i := at; i < len(lines) && indent != ""; i++ {
		lines[i] = dedent(lines[i], indent)
	}
	start := at + 1
	switch {
	case dashes.MatchString(lines[at]):
		if len(strings.TrimRight(lines[at], " \t")) > 3 {
			p.Report(diag.FenceLong, at+1, 0, "write exactly three dashes", "the opening fence has more than three dashes")
		}
		if again := skipBlank(lines, start); again < len(lines) && dashes.MatchString(lines[again]) {
			if key := skipBlank(lines, again+1); key < len(lines) && firstKey.MatchString(lines[key]) {
				p.Report(diag.FenceDoubled, again+1, 0, "remove one of the two", "the opening fence is written twice")
				start = again + 1
			}
		}
	case firstKey.MatchString(lines[at]):
		p.Report(diag.FrontmatterUnopened, at+1, 0, "write --- on a line of its own above it", "the frontmatter has no opening fence")
		start = at
	default:
		p.missing()
		return Header{}, false
	}
	if at > 0 {
		p.Report(diag.FrontmatterPreceded, 1, 0, "let the file begin with ---", "the frontmatter does not begin on the first line")
	}
	if indent != "" {
		p.Report(diag.FrontmatterIndented, at+1, 0, "remove the indentation", "the file is indented")
	}
	h := Header{Line: start + 1, indent: len(indent)}
	end, rest := p.close(lines, start, start-at, &h)
	h.text = strings.Join(lines[start:end], "\n")
	if len(h.text) > maxHeader {
		p.Refuse(diag.FileUnreadable, start+1, 0, "move text from the frontmatter to the body", "the frontmatter is longer than %d KiB", maxHeader>>10)
		return Header{}, false
	}
	h.Body, h.Below = body(rest, wrapper), len(lines)-len(rest)+skipBlank(rest, 0)+1
	return h, true
}

// close finds the end of the header that begins at start, below opened lines of
// fences: the index of the line after its last, and the lines of the body.
func (p *Reader) close(lines []string, start, opened int, h *Header) (end int, rest []string) {
	for i := start; i < len(lines); i++ {
		if dashes.MatchString(lines[i]) {
			if len(strings.TrimRight(lines[i], " \t")) > 3 {
				p.Report(diag.FenceLong, i+1, 0, "write exactly three dashes", "the closing fence has more than three dashes")
			}
			return i, lines[i+1:]
		}
	}
	h.Guessed = true
	p.Report(diag.FrontmatterUnclosed, start+1, 0, "write --- on a line of its own below it", "the frontmatter has no closing fence")
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
	if h.Endless = opened == 0; h.Endless {
		return len(lines), nil
	}
	p.RefuseEndless(start + 1)
	return max(start, len(lines)-1), nil // the last line may be cut in its middle
}

// RefuseEndless refuses a file that may be the beginning of one: it is still
// being written, or was cut.
func (p *Reader) RefuseEndless(line int) {
	p.Refuse(diag.PermissionInvalid, line, 0, "write --- on a line of its own below the last field",
		"the frontmatter does not end, so rules may be missing from it, and nothing of this file is served")
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

func (p *Reader) missing() {
	if !dialect.IsDocumentation(p.File) {
		p.Report(diag.FrontmatterMissing, 1, 0, "begin it with ---, name: and description: lines, and ---, or move it out of the folder", "the file has no frontmatter, so it is not an agent")
	}
}

// body returns the text of the body; wrapper is the code fence around the whole
// file, or "".
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

// SecondHeader returns a field that restricts in a body which begins as a
// frontmatter does, with or without a fence; or "".
func (v *Vocabulary) SecondHeader(body string) string {
	first, rest, _ := strings.Cut(body, "\n")
	if dashes.MatchString(first) {
		body = strings.TrimSpace(rest)
	}
	if _, f, _, ok := v.key(strings.SplitN(body, "\n", 2)[0]); !ok || f == Unknown {
		return ""
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) == "" || dashes.MatchString(line) || heading.MatchString(line) {
			break
		}
		if m := v.line.FindString(line); m != "" {
			return m
		}
	}
	return ""
}
