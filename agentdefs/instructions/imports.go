package instructions

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
)

// Import is one "@path" in a text.
type Import struct {
	Path string // as written, without the @
	Line int    // from 1
}

// maxImportPath bounds a path that is taken for one, in bytes.
const maxImportPath = 1024

// Imports returns the "@path" of a Markdown text, in their order, except in code, in HTML
// comments and within words. A path ends at a blank or a quote, before the
// punctuation of its sentence. Whether there is such a file is not looked at. It is pure, and
// takes any input.
func Imports(text string) (found []Import) {
	if !strings.Contains(text, "@") {
		return nil
	}
	for _, p := range paragraphs(text) {
		line, from := p.line, 0
		for _, t := range tokens(p.text) {
			line, from = line+strings.Count(p.text[from:t.begin], "\n"), t.begin
			found = append(found, Import{p.text[t.begin+1 : t.end], line})
		}
	}
	return found
}

// onlyImports reports whether a text says nothing but what it imports.
func onlyImports(text string) bool {
	said := false
	blank := func(s string) bool { return strings.Trim(s, "-*+ \t\n") == "" }
	for _, p := range paragraphs(text) {
		at := 0
		for _, t := range tokens(p.text) {
			if !blank(p.text[at:t.begin]) {
				return false
			}
			at, said = t.end, true
		}
		if !blank(p.text[at:]) {
			return false
		}
	}
	return said && !strings.Contains(text, "```") && !strings.Contains(text, "~~~")
}

// paragraph is a part of a text without fenced code blocks. Code spans do not reach beyond
// one. Its comments are blank.
type paragraph struct {
	text string
	line int // from 1
}

func paragraphs(text string) (all []paragraph) {
	var lines []string
	next := 0 // the line after those
	flush := func() {
		if len(lines) > 0 {
			all = append(all, paragraph{strings.Join(lines, "\n"), next - len(lines) + 1})
		}
		lines = lines[:0]
	}
	agentfile.Prose(blankComments(text), func(i int, s string) {
		if i != next || strings.TrimSpace(s) == "" {
			flush()
		}
		if next = i + 1; strings.TrimSpace(s) != "" {
			lines = append(lines, s)
		}
	})
	flush()
	return all
}

// blankComments returns a text whose HTML comments have nothing but a blank and their line ends.
func blankComments(text string) string {
	var b strings.Builder
	for {
		begin := strings.Index(text, "<!--")
		if begin < 0 {
			break
		}
		length := strings.Index(text[begin:], "-->")
		if length < 0 {
			break
		}
		b.WriteString(text[:begin])
		b.WriteByte(' ') // the words on both sides stay two
		b.WriteString(strings.Repeat("\n", strings.Count(text[begin:begin+length], "\n")))
		text = text[begin+length+len("-->"):]
	}
	b.WriteString(text)
	return b.String()
}

// token is an "@path" in a paragraph.
type token struct{ begin, end int }

func tokens(text string) (found []token) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i += 2
		case c == '`':
			i = codeSpan(text, i)
		case c == '@' && beginsWord(text[:i]):
			end := i + 1 + pathLength(text[i+1:])
			if end > i+1 {
				found = append(found, token{i, end})
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
	return found
}

// codeSpan returns where the code span that begins at text[i] ends. If nothing closes it, it is
// no span, and its backticks end there.
func codeSpan(text string, i int) int {
	n := backticks(text[i:])
	for at := i + n; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		at += next
		length := backticks(text[at:])
		at += length
		if length == n {
			return at
		}
	}
	return i + n
}

func backticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// beginsWord reports whether a word may begin after a text. An @ elsewhere belongs to an
// address.
func beginsWord(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	return size == 0 || unicode.IsSpace(r) || strings.ContainsRune(`([{<"'*_>:,;|`, r)
}

// pathLength is the length of the path that a text begins with; 0 means it begins with none.
func pathLength(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("`\"<>|@", r)
	})
	if end < 0 {
		end = len(text)
	}
	end = len(strings.TrimRight(text[:end], ".,;:!?)]}*_'"))
	if end > maxImportPath {
		return 0
	}
	return end
}
