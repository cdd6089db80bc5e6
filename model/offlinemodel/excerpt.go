package offlinemodel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// enclosing returns what the line of a file belongs to: the function, type or
// section around it, or the one that it is a comment of.
func (r *researcher) enclosing(file string, line int) (d definition, at int, ok bool) {
	f := r.ev.files[file]
	if f == nil || !f.read[line] {
		return definition{}, 0, false
	}
	n := line
	for f.read[n] && isComment(file, f.lines[n]) {
		n++
	}
	if d, ok := defines(file, f.lines[n]); ok && f.read[n] && (d.body || n > line) {
		return d, n, true
	}
	depth := indent(f.lines[line])
	flat := language(file) == "md" || language(file) == "ini"
	for n := line - 1; n > 0 && f.read[n]; n-- {
		text := f.lines[n]
		if strings.TrimSpace(text) == "" || indent(text) >= depth && !flat {
			continue
		}
		if d, ok := defines(file, text); ok && d.body {
			return d, n, true
		}
		if depth = indent(text); depth == 0 && !flat && !strings.HasPrefix(text, ")") && !strings.HasPrefix(text, "{") {
			break
		}
	}
	return definition{}, 0, false
}

// docOf returns the beginning of the comment on what a place belongs to.
func (a *answer) docOf(p place) string {
	_, line, ok := a.enclosing(p.path, p.line)
	f := a.ev.files[p.path]
	if !ok || language(p.path) == "md" {
		return ""
	}
	var doc []string
	for n := line - 1; n > 0 && f.read[n]; n-- {
		l := strings.TrimSpace(f.lines[n])
		if strings.HasPrefix(l, "@") || strings.HasPrefix(l, "#[") { // a decorator, an annotation
			continue
		}
		if !isComment(p.path, l) {
			break
		}
		doc = append([]string{l}, doc...)
	}
	for n := line + 1; len(doc) == 0 && f.read[n] && n < line+8; n++ {
		for m := n; isDocString(f.lines[n]) && f.read[m] && m < n+12; m++ {
			doc = append(doc, f.lines[m])
			if m > n && isDocString(f.lines[m]) || strings.Count(f.lines[m], `"""`) == 2 {
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
	markup       = regexp.MustCompile(`^\s*(?:<|\[!|\[?!\[|\.\. |:\w+:|[=~-]{3,}\s*$|#)`)
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

// opening returns the beginning of what a file says of itself: the comment it
// begins with, unless that is a license, or a document's first paragraph.
func opening(name string, f *fileEvidence) string {
	doc, inString := []string{}, false
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		l := f.lines[n]
		switch {
		case n > 60:
			return firstSentences(doc)
		case kindOf(name) == document:
			if !markup.MatchString(l) && (len(doc) > 0 || strings.TrimSpace(l) != "") {
				doc = append(doc, l)
			}
			continue
		case isComment(name, l) || inString:
			if doc = append(doc, l); licenseWords.MatchString(l) {
				doc = nil
			}
			if isDocString(l) && strings.Count(l, `"""`)+strings.Count(l, `'''`) == 1 {
				inString = !inString
			}
		case len(doc) > 0:
			return firstSentences(doc)
		}
	}
	return firstSentences(doc)
}

// excerpt returns the lines around a place, as far as they were read: the
// function, or the section with its first block of code.
func (a *answer) excerpt(p place) string {
	f := a.ev.files[p.path]
	if f == nil || !f.read[p.line] {
		return ""
	}
	if language(p.path) == "md" || kindOf(p.path) == document {
		return f.section(p.path, p.line)
	}
	first, last := p.line-3, p.line+excerptLines-4
	if d, at, ok := a.enclosing(p.path, p.line); ok && d.body {
		last = min(f.endOf(at), first+excerptLines)
		if at >= p.line-excerptLines/2 {
			first, last = at, min(f.endOf(at), at+excerptLines)
		}
	}
	if p.topic && !p.isDef {
		first, last = p.line-1, p.line+excerptLines-2
	}
	return block(f, p.path, min(first, p.line), max(last, p.line))
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
	l := f.lines[n]
	if language(name) == "md" && strings.HasPrefix(l, "#") && heading.MatchString(l) {
		return len(l) - len(strings.TrimLeft(l, "#"))
	}
	if under := strings.TrimSpace(f.lines[n+1]); language(name) != "md" && len(under) >= 3 && strings.TrimSpace(l) != "" && strings.Trim(under, under[:1]) == "" && strings.Contains(`=-~^"*+`, under[:1]) {
		return 1 + strings.Index(`=-~^"*+`, under[:1])
	}
	return 0
}

// sectionEnd returns the last line of the section that a line of a document
// begins; of other files, and of text within a section, some lines further on.
func (f *fileEvidence) sectionEnd(name string, start int) int {
	level, n := f.level(name, start), start
	fence := false
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
	end := f.sectionEnd(name, start)
	for f.level(name, start) > 0 && start > 1 && f.level(name, end) > 0 && end == start && f.read[end+1] {
		end = f.sectionEnd(name, end+1)
	}
	var lines []string
	for n := start; n <= end; n++ {
		l := strings.TrimRight(f.lines[n], " \t")
		if l == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, l)
	}
	if code := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") }); code > excerptLines-4 {
		lines = append([]string{lines[0], "…"}, lines[code-1:]...)
	}
	if len(lines) > excerptLines {
		lines = append(lines[:excerptLines], "…")
	}
	return fenced("x.md", strings.Join(shortened(lines), "\n"))
}

func shortened(lines []string) []string {
	for i, l := range lines {
		if r := []rune(l); len(r) > 2*maxShownLine {
			lines[i] = string(r[:2*maxShownLine]) + "…"
		}
	}
	return lines
}

// block returns the lines from first to last, as far as they were read.
func block(f *fileEvidence, file string, first, last int) string {
	var lines []string
	for n := max(first, 1); n <= last; n++ {
		if l := strings.TrimRight(f.lines[n], " \t"); f.read[n] && (l != "" || len(lines) > 0) {
			lines = append(lines, l)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return fenced(file, strings.Join(shortened(lines), "\n"))
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
	switch ticks := strings.Repeat("`", longestRun(s)+1); {
	case s == "":
		return "` `"
	case len(ticks) > 1:
		return ticks + " " + s + " " + ticks
	default:
		return ticks + s + ticks
	}
}

// fenced writes lines as a code block.
func fenced(file, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	lang := extension(file)
	if strings.ContainsFunc(lang, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		lang = ""
	}
	return fence + lang + "\n" + text + "\n" + fence
}

// longestRun returns how many backticks in a row s has at most.
func longestRun(s string) int {
	longest, run := 0, 0
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
