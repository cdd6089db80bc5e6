package offlinemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// enclosing returns what the line of a file belongs to, and its line: the
// function, type or section around it, or the one that it is a comment of. 0:
// it is not known.
func (r *researcher) enclosing(file string, line int) (definition, int) {
	f := r.ev.files[file]
	if f == nil || !f.read[line] {
		return definition{}, 0
	}
	n := line
	for f.read[n] && isComment(file, f.lines[n]) {
		n++
	}
	if d, ok := defines(file, f.lines[n]); ok && f.read[n] && (d.body || n > line) {
		return d, n
	}
	depth, text := indent(f.lines[line]), language(file) == "md" || language(file) == "ini"
	for n := line - 1; n > 0 && f.read[n]; n-- {
		l := f.lines[n]
		if strings.TrimSpace(l) == "" || indent(l) >= depth && !text {
			continue
		}
		if d, ok := defines(file, l); ok && d.body {
			return d, n
		}
		if depth = indent(l); depth == 0 && !text && l[0] != ')' && l[0] != '{' {
			break
		}
	}
	return definition{}, 0
}

// docOf returns the beginning of the comment on what a place belongs to.
func (r *researcher) docOf(p place) string {
	_, line := r.enclosing(p.path, p.line)
	f := r.ev.files[p.path]
	if line == 0 || language(p.path) == "md" {
		return ""
	}
	var doc []string
	for n := line - 1; n > 0 && f.read[n]; n-- {
		l := strings.TrimSpace(f.lines[n])
		if strings.HasPrefix(l, "@") || strings.HasPrefix(l, "#[") || l == "" && n == line-1 { // a decorator, an annotation
			continue
		}
		if !isComment(p.path, l) {
			break
		}
		doc = append([]string{l}, doc...)
	}
	for n := line + 1; len(doc) == 0 && f.read[n] && n < line+8; n++ {
		for m := n; isDocString(f.lines[n]) && f.read[m] && m < n+12; m++ {
			if doc = append(doc, f.lines[m]); m > n && isDocString(f.lines[m]) {
				break
			}
		}
	}
	return firstSentences(doc)
}

func isDocString(s string) bool { return strings.Contains(s, `"""`) || strings.Contains(s, `'''`) }

var (
	commentMark  = regexp.MustCompile(`^\s*(?://+!?|/\*+|\*+/|\*|#+|--|;+|<!--|[rbuf]?"""|[rbuf]?''')\s?|\s*(?:\*/|-->|"""|''')\s*$`)
	sentenceEnd  = regexp.MustCompile(`[.!?](?:\s|$)`)
	licenseWords = regexp.MustCompile(`(?i)copyright|licen[sc]e|spdx|all rights reserved|^\s*#!|^\s*//go:|^\s*// \+build|coding[:=]|eslint|use strict|generated`)
	markup       = regexp.MustCompile(`^\s*(?:<|\[!|\[?!\[|\.\. |:\w+:|[=~-]{3,}\s*$|#|$)`)
)

// firstSentences returns the beginning of a comment without its marks: whole
// sentences as far as there is room.
func firstSentences(lines []string) string {
	var words []string
	for _, l := range lines {
		if l = commentMark.ReplaceAllString(l, ""); strings.TrimSpace(l) == "" && len(words) > 0 {
			break // the first paragraph
		}
		words = append(words, strings.Fields(l)...)
	}
	text := strings.Join(words[:min(len(words), maxQuotedWords)], " ")
	if ends := sentenceEnd.FindAllStringIndex(text, -1); len(words) > maxQuotedWords && len(ends) > 0 {
		return strings.TrimSpace(text[:ends[len(ends)-1][1]])
	} else if len(words) > maxQuotedWords {
		text += " …"
	}
	return text
}

// opening returns the beginning of what a file says of itself: the comment it
// begins with, unless that is a license, or a document's first paragraph.
func opening(name string, f *fileEvidence) string {
	var doc []string
	kind, _ := kindOf(name)
	open := false // a string that is the documentation
	for n := 1; n < 60 && f.read[n]; n++ {
		l := f.lines[n]
		if strings.Count(l, `"""`)+strings.Count(l, `'''`) == 1 {
			open = !open
		}
		switch text := kind == "document" && !markup.MatchString(l) || kind != "document" && (open || isComment(name, l) || isDocString(l)); {
		case text && licenseWords.MatchString(l) && kind != "document":
			doc = nil
		case text:
			doc = append(doc, l)
		case len(doc) > 0:
			return firstSentences(doc)
		}
	}
	return firstSentences(doc)
}

// excerpt returns the lines around a place, as far as they were read: the
// function, or the section with its first block of code.
func (r *researcher) excerpt(p place) string {
	f := r.ev.files[p.path]
	if f == nil || !f.read[p.line] {
		return ""
	}
	if language(p.path) == "md" || p.kind == "document" {
		return f.section(p.path, p.line)
	}
	first := max(p.line-3, 1)
	last := first + excerptLines - 1
	if d, at := r.enclosing(p.path, p.line); at > 0 && d.body && !p.topic {
		if at >= p.line-excerptLines/2 {
			first = min(at, p.line)
		}
		last = max(min(f.endOf(at), first+excerptLines), p.line)
	} else if p.topic {
		first, last = p.line, p.line+excerptLines-2
	}
	return f.block(p.path, first, last)
}

// endOf returns the last line of what begins at a line, as far as it was read
// and by how lines are indented.
func (f *fileEvidence) endOf(start int) int {
	depth, end := indent(f.lines[start]), start
	for n := start + 1; f.read[n]; n++ {
		switch l := strings.TrimSpace(f.lines[n]); {
		case l == "":
		case indent(f.lines[n]) > depth, strings.ContainsAny(l[:1], ")}]{"), l == "end":
			end = n
		default:
			return end
		}
	}
	return end
}

// level returns the level of a line that is a heading; 0: it is none.
func (f *fileEvidence) level(name string, n int) int {
	l, under := f.lines[n], strings.TrimSpace(f.lines[n+1])
	switch {
	case language(name) == "md":
		if d, ok := defines(name, l); ok && d.body {
			return len(l) - len(strings.TrimLeft(l, "#"))
		}
	case len(under) >= 3 && strings.TrimSpace(l) != "" && strings.Trim(under, under[:1]) == "" && strings.Contains(`=-~^"*+`, under[:1]):
		return 1 + strings.Index(`=-~^"*+`, under[:1])
	}
	return 0
}

// sectionEnd returns the last line of the section that a line of a document
// begins; of other files, and of text within a section, some lines further on.
func (f *fileEvidence) sectionEnd(name string, start int) int {
	level, n, fence := f.level(name, start), start, false
	for f.read[n+1] {
		n++
		fence = fence != strings.HasPrefix(strings.TrimSpace(f.lines[n]), "```")
		if l := f.level(name, n); !fence && l > 0 && (l <= level || level == 0) || level == 0 && n > start+2*excerptLines {
			return n - 1
		}
	}
	return n
}

// section returns a piece of a document from a line on. Where its first block
// of code comes late, what is before that is shortened.
func (f *fileEvidence) section(name string, start int) string {
	var lines []string
	for n := start; n <= f.sectionEnd(name, start); n++ {
		if l := f.lines[n]; strings.TrimSpace(l) != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, strings.TrimRight(l, " \t"))
		}
	}
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") }); i > excerptLines-4 {
		lines = append([]string{lines[0], "…"}, lines[i-1:]...)
	}
	if len(lines) > excerptLines {
		lines = append(lines[:excerptLines], "…")
	}
	return fenced("x.md", lines)
}

// block returns the lines from first to last, as far as they were read.
func (f *fileEvidence) block(file string, first, last int) string {
	var lines []string
	for n := first; n <= last; n++ {
		if l := strings.TrimRight(f.lines[n], " \t"); f.read[n] && (l != "" || len(lines) > 0) {
			lines = append(lines, l)
		}
	}
	return fenced(file, lines)
}

// shorten returns a line as a list shows it.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxShownLine {
		return string(r[:maxShownLine]) + "…"
	}
	return s
}

// code writes s as inline code of Markdown.
func code(s string) string {
	ticks := strings.Repeat("`", longestRun(s)+1)
	if s == "" || len(ticks) > 1 {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fenced writes lines as a code block.
func fenced(file string, lines []string) string {
	for i, l := range lines {
		if r := []rune(l); len(r) > 2*maxShownLine {
			lines[i] = string(r[:2*maxShownLine]) + "…"
		}
	}
	text, lang := strings.TrimRight(strings.Join(lines, "\n"), "\n"), extension(file)
	if strings.ContainsFunc(lang, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		lang = ""
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + lang + "\n" + text + "\n" + fence
}

// longestRun returns how many backticks in a row s has at most.
func longestRun(s string) (longest int) {
	run := 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
