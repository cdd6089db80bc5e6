package offlinemodel

import (
	"fmt"
	"regexp"
	"strings"
)

// enclosing returns what the line of a file belongs to: the function or type
// around it, or the one that it is a comment of. It knows what was read.
func (r *researcher) enclosing(file string, line int) (d definition, at int, ok bool) {
	f := r.ev.files[file]
	if f == nil || !f.read[line] {
		return definition{}, 0, false
	}
	if d, ok := defines(file, f.lines[line]); ok && d.body {
		return d, line, true
	}
	if isComment(file, f.lines[line]) {
		n := line
		for f.read[n] && isComment(file, f.lines[n]) {
			n++
		}
		if d, ok := defines(file, f.lines[n]); ok && f.read[n] {
			return d, n, true
		}
	}
	depth := indent(f.lines[line])
	for n := line - 1; n > 0 && f.read[n]; n-- {
		text := f.lines[n]
		flat := language(file) == "md" || language(file) == "ini"
		if strings.TrimSpace(text) == "" || indent(text) >= depth && !flat {
			continue
		}
		if d, ok := defines(file, text); ok && d.body {
			return d, n, true
		}
		if depth = indent(text); depth == 0 && !flat && !opensBody(text) {
			break
		}
	}
	return definition{}, 0, false
}

// opensBody reports whether an unindented line can stand between a body and
// the definition it belongs to: the end of parameters on lines of their own.
func opensBody(text string) bool {
	return strings.HasPrefix(text, ")") || strings.HasPrefix(text, "{")
}

// docOf returns the beginning of the comment on what a place belongs to.
func (a *answer) docOf(p place) string {
	_, line, ok := a.enclosing(p.path, p.line)
	f := a.ev.files[p.path]
	if !ok || f == nil {
		return ""
	}
	var doc []string
	for n := line - 1; n > 0 && f.read[n]; n-- {
		text := f.lines[n]
		if strings.HasPrefix(strings.TrimSpace(text), "@") { // a decorator, an annotation
			continue
		}
		if !isComment(p.path, text) {
			break
		}
		doc = append([]string{text}, doc...)
	}
	if len(doc) == 0 && f.read[line+1] && isDocString(f.lines[line+1]) {
		for n := line + 1; f.read[n] && n < line+12; n++ {
			doc = append(doc, f.lines[n])
			if n > line+1 && isDocString(f.lines[n]) || strings.Count(f.lines[n], `"""`) == 2 {
				break
			}
		}
	}
	return firstSentences(doc)
}

func isDocString(s string) bool {
	return strings.Contains(s, `"""`) || strings.Contains(s, `'''`)
}

var (
	commentMark = regexp.MustCompile(`^\s*(?://+!?|/\*+|\*+/|\*|#+|--|;+|<!--|[rbuf]?"""|[rbuf]?''')\s?|\s*(?:\*/|-->|"""|''')\s*$`)
	sentenceEnd = regexp.MustCompile(`[.!?](?:\s|$)`)
)

// firstSentences returns the beginning of a comment without its marks: whole
// sentences as far as there is room.
func firstSentences(lines []string) string {
	var words []string
	for _, l := range lines {
		l = commentMark.ReplaceAllString(l, "")
		if strings.TrimSpace(l) == "" && len(words) > 0 {
			break // the first paragraph
		}
		words = append(words, strings.Fields(l)...)
	}
	text := strings.Join(words, " ")
	if len(words) <= maxQuotedWords {
		return text
	}
	text = strings.Join(words[:maxQuotedWords], " ")
	if ends := sentenceEnd.FindAllStringIndex(text, -1); len(ends) > 0 {
		return strings.TrimSpace(text[:ends[len(ends)-1][1]])
	}
	return text + " …"
}

// excerpt returns the lines around one, as far as they were read.
func (a *answer) excerpt(file string, line int) string {
	f := a.ev.files[file]
	if f == nil || !f.read[line] {
		return ""
	}
	first, last := line-excerptAbove, 0
	if _, at, ok := a.enclosing(file, line); ok {
		last = f.endOf(at)
		switch {
		case at > line: // a comment: the definition below it has to be seen
			first = line - 1
		case at >= line-excerptLines/2:
			for first = at; last-first < excerptAbove && f.read[first-1] && isComment(file, f.lines[first-1]); {
				first--
			}
		}
	}
	if last < line || last > first+excerptLines-1 {
		last = first + excerptLines - 1
	}
	return block(f, file, first, last, line)
}

// endOf returns the last line of what begins at a line, as far as it was read
// and by how lines are indented.
func (f *fileEvidence) endOf(start int) int {
	depth := indent(f.lines[start])
	end := start
	for n := start + 1; f.read[n]; n++ {
		text := strings.TrimSpace(f.lines[n])
		switch {
		case text == "":
			continue
		case indent(f.lines[n]) > depth, strings.ContainsAny(text[:1], ")}]{"), text == "end":
			end = n
		default:
			return end
		}
	}
	return end
}

// block returns the lines from first to last, around one that is among them,
// as far as they were read and hang together.
func block(f *fileEvidence, file string, first, last, line int) string {
	var lines []string
	begin := line
	for begin > max(first, 1) && f.read[begin-1] {
		begin--
	}
	for n := begin; n <= last && f.read[n]; n++ {
		text := strings.TrimRight(f.lines[n], " \t")
		if r := []rune(text); len(r) > 2*maxShownLine {
			text = string(r[:2*maxShownLine]) + "…"
		}
		if text == "" && len(lines) == 0 {
			begin++
			continue
		}
		lines = append(lines, text)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, lines %d to %d:\n\n%s", code(file), begin, begin+len(lines)-1, fenced(file, strings.Join(lines, "\n")))
}
